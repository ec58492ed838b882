#pragma once

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
// The ones above, '\n' and '\t', and all that can't be seen or looks like a space without being U+0020.
[[nodiscard]] bool isHidden(char32_t value) noexcept;

// `\n`, `\x1b` or `\u{202e}`.
void appendEscape(std::string& out, char32_t value);
void appendHexByte(std::string& out, char byte);  // `\x9b`

}  // namespace factionos::redaction
