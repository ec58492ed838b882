#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace factionos::redaction {

// Sets of bytes that a secret's body is made of; a bit each, so that one table answers all of them.
enum class Alphabet : std::uint16_t {
  kHex = 1U << 0U,        // 0-9 a-f A-F
  kUpper = 1U << 1U,      // A-Z 0-9
  kLower = 1U << 2U,      // a-z 0-9
  kAlnum = 1U << 3U,      // A-Z a-z 0-9
  kWord = 1U << 4U,       // alnum _
  kUrl = 1U << 5U,        // alnum _ -
  kUrlDot = 1U << 6U,     // alnum _ - .
  kBase64 = 1U << 7U,     // alnum _ - + / =
  kPath = 1U << 8U,       // alnum _ - . /
  kToken68 = 1U << 9U,    // alnum _ - . ~ + / = :
  kValue = 1U << 10U,     // what an unquoted or quoted configuration value may hold
  kUserInfo = 1U << 11U,  // visible ASCII and bytes above it, but / @ quotes and < >
};

// When a body becomes a secret.
enum class ShapeKind : std::uint8_t {
  kRun,        // as soon as `min` bytes of the narrow alphabet have come; goes on over the wide one
  kEntropy,    // when the run ends, if it is long and random enough
  kPassword,   // when the run ends, if it ends in '@'
  kTail,       // when the run ends, if its last bytes are those of the format
  kPem,        // at once, to the END line
  kDirectory,  // never: where its prefix ends and a '/' follows, no kEntropy body begins
};

enum class Needs : std::uint8_t { kNothing, kDigit, kDot };

// One public secret format: a prefix that is recognised and always shown, and a body that is not. Prefixes
// are no secret, so nothing is held back while one is still incomplete.
struct Shape {
  std::string_view label;   // the category in the marker
  std::string_view prefix;  // regular expression; a body begins where it ends
  enum class Edge : std::uint8_t { kAnywhere, kWord } edge;  // kWord: no letter or digit before the prefix
  ShapeKind kind;
  Alphabet narrow;
  std::uint16_t min;  // body bytes of the narrow alphabet that make it a secret
  Alphabet wide;
  Needs needs = Needs::kNothing;
  // Body bytes that may be shown if the program pauses inside the body. 0 for prefixes that mean nothing
  // else.
  std::uint8_t safe = 0;
  std::string_view tail = {};  // kTail: '9' stands for a digit
};

// All formats; the index is the id under which Vectorscan reports the prefix.
[[nodiscard]] std::span<const Shape> shapes() noexcept;

namespace detail {
extern const std::array<std::uint16_t, 256> kMembership;  // by byte: the alphabets that hold it
}

[[nodiscard]] inline bool contains(Alphabet alphabet, char byte) noexcept {
  return (detail::kMembership[static_cast<unsigned char>(byte)] & static_cast<unsigned>(alphabet)) != 0;
}

}  // namespace factionos::redaction
