#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace factionos::redaction {

// One code point read from the front of a UTF-8 text.
struct CodePoint {
  enum class Status : std::uint8_t { kValid, kInvalid, kIncomplete } status;
  char32_t value;      // U+FFFD unless valid
  std::size_t length;  // bytes to skip; at least 1 (for kIncomplete: what there is of it)
};

// `text` must not be empty. Overlong forms, surrogates and values above U+10FFFF are invalid; an invalid
// sequence ends before the first byte that could not follow, as Unicode recommends for replacement.
[[nodiscard]] CodePoint decodeUtf8(std::string_view text) noexcept;

// Code points that reorder or break what is displayed: C0 but '\n' and '\t', DEL, C1, bidi controls, line and
// paragraph separators, tag characters, the byte order mark.
[[nodiscard]] bool disturbsDisplay(char32_t value) noexcept;
// Code points above C1 that leave no trace where they stand: soft hyphen, zero-width spaces and joiners,
// variation selectors, bidi controls, fillers, tags. `value` is valid.
[[nodiscard]] bool isInvisible(char32_t value) noexcept;
namespace detail {
// By block of 64 code points, which is all that differ in their last byte alone: whether one in it is
// invisible. Nearly all text is in blocks that hold none.
constexpr unsigned kBlockBits = 6;
extern const std::array<bool, (0x110000U >> kBlockBits)> kHasInvisible;
}  // namespace detail
// All of the above, '\n' and '\t', and what looks like a space without being U+0020 or is for private use.
[[nodiscard]] bool isHidden(char32_t value) noexcept;

// `\n`, `\x1b` or `\u{202e}`.
void appendEscape(std::string& out, char32_t value);
void appendHexByte(std::string& out, char byte);  // `\x9b`

}  // namespace factionos::redaction
