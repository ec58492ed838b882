#include "broker/redaction/redactor.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <sodium.h>

#include "broker/redaction/visible.h"

namespace factionos::redaction::detail {

std::string renderTime(std::chrono::system_clock::time_point time) {
  using std::chrono::floor;
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::milliseconds>(time - day));
  std::array<char, 64> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02lld:%02lld:%02lld.%03lldZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<long long>(clock.hours().count()), static_cast<long long>(clock.minutes().count()),
      static_cast<long long>(clock.seconds().count()), static_cast<long long>(clock.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string renderDigest(const KeyedDigest& digest) {
  std::array<char, KeyedDigest::kBytes * 2 + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), digest.bytes().data(), digest.bytes().size());
  return {hex.data(), hex.size() - 1};
}

std::string renderOperatorView(std::string_view raw, std::size_t maxBytes) {
  return makeVisible(raw, maxBytes);
}

std::string printableAlone(std::string_view raw) {
  std::string text(raw);
  std::ranges::replace_if(
      text, [](char each) { return each < ' ' || each > '~'; }, '?');
  return text;
}

}  // namespace factionos::redaction::detail
