#include "protocol/json/scalars.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace factionos::json {
namespace {

constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::int64_t kMsPerMinute = 60 * kMsPerSecond;
constexpr std::int64_t kMsPerHour = 60 * kMsPerMinute;
constexpr std::int64_t kMsPerDay = 24 * kMsPerHour;
constexpr std::int64_t kEarliest = -62135596800000;  // 0001-01-01T00:00:00.000Z
constexpr std::int64_t kLatest = 253402300799999;    // 9999-12-31T23:59:59.999Z

template <typename Integer>
std::optional<Integer> parseInteger(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && digits.front() == '-') digits.remove_prefix(1);
  if (digits.empty() || (digits.front() == '0' && text.size() > 1)) return std::nullopt;
  Integer value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes fixed fields off a text; once one doesn't fit, `ok` stays false.
struct Scanner {
  std::string_view rest;
  bool ok = true;

  int number(std::size_t width, int low, int high) {
    int value = 0;
    ok = ok && rest.size() >= width;
    if (!ok) return 0;
    for (char c : rest.substr(0, width)) {
      ok = ok && c >= '0' && c <= '9';
      value = value * 10 + (c - '0');
    }
    rest.remove_prefix(width);
    ok = ok && value >= low && value <= high;
    return value;
  }
  void literal(char c) {
    ok = ok && !rest.empty() && rest.front() == c;
    if (ok) rest.remove_prefix(1);
  }
  bool at(char c) const { return ok && !rest.empty() && rest.front() == c; }
};

std::int64_t fraction(Scanner& in) {
  if (!in.at('.')) return 0;
  in.literal('.');
  std::int64_t milliseconds = 0;
  std::size_t digits = 0;
  for (; !in.rest.empty() && in.rest.front() >= '0' && in.rest.front() <= '9';
       in.rest.remove_prefix(1), ++digits) {
    if (digits < 3) milliseconds = milliseconds * 10 + (in.rest.front() - '0');
  }
  in.ok = in.ok && digits >= 1 && digits <= 9;
  for (; digits < 3; ++digits) milliseconds *= 10;
  return milliseconds;
}

std::int64_t offset(Scanner& in) {
  if (in.at('Z')) {
    in.literal('Z');
    return 0;
  }
  std::int64_t sign = in.at('-') ? -1 : 1;
  in.literal(sign < 0 ? '-' : '+');
  int hours = in.number(2, 0, 23);
  in.literal(':');
  int minutes = in.number(2, 0, 59);
  return sign * (hours * kMsPerHour + minutes * kMsPerMinute);
}

}  // namespace

std::optional<std::int64_t> parseTime(std::string_view text) {
  Scanner in{text};
  int year = in.number(4, 1, 9999);
  in.literal('-');
  int month = in.number(2, 1, 12);
  in.literal('-');
  int day = in.number(2, 1, 31);
  in.literal('T');
  int hour = in.number(2, 0, 23);
  in.literal(':');
  int minute = in.number(2, 0, 59);
  in.literal(':');
  int second = in.number(2, 0, 59);
  std::int64_t milliseconds = fraction(in);
  std::int64_t shift = offset(in);
  std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                   std::chrono::day(static_cast<unsigned>(day))};
  if (!in.ok || !in.rest.empty() || !date.ok()) return std::nullopt;
  std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  std::int64_t value = days * kMsPerDay + hour * kMsPerHour + minute * kMsPerMinute + second * kMsPerSecond +
                       milliseconds - shift;
  if (value < kEarliest || value > kLatest) return std::nullopt;
  return value;
}

void writeTime(std::int64_t milliseconds, JsonText& json) {
  std::chrono::milliseconds since{std::clamp(milliseconds, kEarliest, kLatest)};
  std::chrono::sys_time<std::chrono::milliseconds> point{since};
  auto day = std::chrono::floor<std::chrono::days>(point);
  std::chrono::year_month_day date{day};
  std::chrono::hh_mm_ss time{point - day};
  std::array<char, 40> text;
  int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  json.text({text.data(), static_cast<std::size_t>(length)});
}

std::optional<std::int64_t> parseSigned(std::string_view text) {
  return parseInteger<std::int64_t>(text);
}

std::optional<std::uint64_t> parseUnsigned(std::string_view text) {
  return parseInteger<std::uint64_t>(text);
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view cutAtCharacter(std::string_view text, std::size_t maxBytes) {
  if (text.size() <= maxBytes) return text;
  std::size_t end = maxBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace factionos::json
