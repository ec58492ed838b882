#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

// What may cross boundaries by its own form: names and words of ours. Used by the audit and the state as they
// are, and by the redactors of all other boundaries.
namespace factionos::redaction {

// The text was no label or code. The message names the rule, never the text.
class InvalidLabel : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A bounded name of a thing: a workspace, a principal, a target, an id. The grammar is the last wall against
// raw text; that the right thing is named is the work of whoever makes the label. Labels from workers are
// hostile: parse them here, first of all.
//
//   1 to 96 bytes of A-Z a-z 0-9 . _ - : @ + /
//   begins with a letter, digit, '.', '_' or '@'; neither begins nor ends with '/'; no "//", no segment "..";
//   no run of more than 32 letters and digits, which long secrets have and names rarely do.
class Label {
 public:
  static constexpr std::size_t kMaxBytes = 96;
  static constexpr std::size_t kMaxRun = 32;

  // Nothing if `text` breaks the grammar.
  static std::optional<Label> parse(std::string_view text);
  // Throws InvalidLabel.
  static Label of(std::string_view text);

  const std::string& text() const { return text_; }
  auto operator<=>(const Label&) const = default;

 private:
  explicit Label(std::string_view text) : text_(text) {}
  std::string text_;
};

// A word of our own vocabulary: a family, an operation, a state, a failure code. 1 to 48 bytes of a-z 0-9 _
// and -, beginning with a letter.
class Code {
 public:
  static constexpr std::size_t kMaxBytes = 48;

  static std::optional<Code> parse(std::string_view text);
  // Throws InvalidLabel.
  static Code of(std::string_view text);

  const std::string& text() const { return text_; }
  auto operator<=>(const Code&) const = default;

 private:
  explicit Code(std::string_view text) : text_(text) {}
  std::string text_;
};

// A keyed digest of something that must not itself be stored or shown.
class KeyedDigest {
 public:
  static constexpr std::size_t kBytes = 32;
  explicit KeyedDigest(const std::array<std::uint8_t, kBytes>& bytes) noexcept : bytes_(bytes) {}
  [[nodiscard]] const std::array<std::uint8_t, kBytes>& bytes() const noexcept { return bytes_; }

 private:
  std::array<std::uint8_t, kBytes> bytes_;
};

}  // namespace factionos::redaction
