#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace factionos::redaction {

// A short name that may cross boundaries: `[A-Za-z0-9][A-Za-z0-9 ._:@+-]{0,63}`, no space at its end. It has
// no slash, quote, control or other byte that could carry a path, markup or a second line. Labels from
// workers are hostile: parse them here, first of all.
class Label {
 public:
  static constexpr std::size_t kMaxBytes = 64;

  [[nodiscard]] static std::optional<Label> parse(std::string_view text) noexcept;

  [[nodiscard]] std::string_view text() const noexcept { return {bytes_.data(), size_}; }
  bool operator==(const Label& other) const noexcept { return text() == other.text(); }

 private:
  Label() = default;
  std::array<char, kMaxBytes> bytes_{};
  std::uint8_t size_ = 0;
};

// An error or status code of ours: `[a-z0-9_]{1,48}`, known when the program is compiled.
class Code {
 public:
  template <std::size_t N>
  explicit(false) consteval Code(const char (&text)[N]) : text_(text, N - 1) {
    if (text_.empty() || text_.size() > 48) throw "a code has 1 to 48 characters";
    for (const char c : text_) {
      if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_') throw "a code is made of a-z, 0-9 and _";
    }
  }
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

 private:
  std::string_view text_;
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
