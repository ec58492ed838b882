// Texts that stand for one value: integers and times, and the cut of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/json/json_text.h"

namespace factionos::json {

// RFC 3339 with an upper-case T and Z or an offset, 0 to 9 digits of a fraction, years 0001 to 9999, no leap
// second. Milliseconds since 1970 UTC, what is finer is cut off.
[[nodiscard]] std::optional<std::int64_t> parseTime(std::string_view text);

// "2024-02-29T12:00:00.000Z". Beyond the years that RFC 3339 can name: the nearest that it can.
void writeTime(std::int64_t milliseconds, JsonText& json);

// Digits alone, but for one leading '-'; no leading zeros, no "-0".
[[nodiscard]] std::optional<std::int64_t> parseSigned(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> parseUnsigned(std::string_view text);

// -1: no hexadecimal digit.
[[nodiscard]] int hexDigit(char c);

// The longest prefix of `text`, which is UTF-8, that has at most `maxBytes` and ends with a whole character.
[[nodiscard]] std::string_view cutAtCharacter(std::string_view text, std::size_t maxBytes);

}  // namespace factionos::json
