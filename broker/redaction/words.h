#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// Texts that hold nothing of anybody's: written in the source, counted by us, or random.
namespace factionos::redaction {

// Words that stand in the source. What is known at run time alone can't become one.
class Literal {
 public:
  constexpr Literal() = default;
  template <std::size_t N>
  consteval Literal(const char (&text)[N]) : text_(text, N - 1) {
    for (const char each : text_) {
      if (each < ' ' || each > '~') throw "a literal has printable ASCII alone";
    }
  }
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return text_.empty(); }

 private:
  std::string_view text_;
};

// A sentence for a reader: literals, and numbers of ours between them.
class Sentence {
 public:
  constexpr Sentence() = default;
  template <std::size_t N>
  consteval Sentence(const char (&text)[N]) : words_{Literal(text)} {}
  constexpr Sentence(Literal text) : words_{text} {}
  constexpr Sentence(Literal before, std::uint64_t number, Literal after)
      : words_{before, after}, numbers_{number}, numbersUsed_(1) {}
  constexpr Sentence(Literal before, std::uint64_t first, Literal between, std::uint64_t second,
                     Literal after)
      : words_{before, between, after}, numbers_{first, second}, numbersUsed_(2) {}

  [[nodiscard]] constexpr bool empty() const noexcept { return words_[0].empty() && numbersUsed_ == 0; }
  [[nodiscard]] std::string text() const;

 private:
  std::array<Literal, 3> words_{};
  std::array<std::uint64_t, 2> numbers_{};
  std::uint8_t numbersUsed_ = 0;
};

// Bytes that are made to be shown: a nonce, a public key, the hash of a record. Never one that opens
// anything.
class PublicBytes {
 public:
  static PublicBytes hex(std::span<const std::uint8_t> bytes);
  static PublicBytes base64Url(std::span<const std::uint8_t> bytes);  // without padding
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  explicit PublicBytes(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace factionos::redaction
