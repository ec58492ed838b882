#include "workers/front/semantics.h"

#include <algorithm>
#include <charconv>

namespace factionos::front {
namespace {

// 15 digits stay below 2^53 and far above every limit on bodies.
constexpr std::size_t kMaxLengthDigits = 15;

bool readContentLength(const Singleton& field, std::uint64_t& into) {
  into = 0;
  if (field.presence == Presence::kAbsent) return true;
  if (field.presence == Presence::kRepeated || field.value.empty() || field.value.size() > kMaxLengthDigits)
    return false;
  const char* end = field.value.data() + field.value.size();
  const auto [stop, error] = std::from_chars(field.value.data(), end, into);
  return error == std::errc() && stop == end;
}

// `Connection` may be repeated: its lines are one list (RFC 9110, 5.3).
bool connectionHolds(const HeaderBlock& block, std::string_view token) {
  return std::ranges::any_of(block.fields, [token](const Field& field) {
    return equalsIgnoreCase(field.name, "connection") && listHolds(field.value, token);
  });
}

}  // namespace

Singleton findField(const HeaderBlock& block, std::string_view name) {
  Singleton found;
  for (const Field& field : block.fields) {
    if (!equalsIgnoreCase(field.name, name)) continue;
    if (found.presence != Presence::kAbsent) {
      found.presence = Presence::kRepeated;
      break;
    }
    found = {Presence::kOnce, field.value};
  }
  return found;
}

bool listHolds(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    item.remove_prefix(std::min(item.find_first_not_of(" \t"), item.size()));
    item.remove_suffix(item.size() - (item.find_last_not_of(" \t") + 1));
    if (equalsIgnoreCase(item, token)) return true;
  }
  return false;
}

Refusal checkSemantics(const HeaderBlock& block, Semantics& into) {
  into = Semantics();
  if (findField(block, "transfer-encoding").presence != Presence::kAbsent) return Refusal::kLengthRequired;
  const Singleton host = findField(block, "host");
  if (host.presence != Presence::kOnce) return Refusal::kMalformed;
  into.host = host.value;
  if (!readContentLength(findField(block, "content-length"), into.contentLength)) return Refusal::kMalformed;

  const Singleton expect = findField(block, "expect");
  if (expect.presence != Presence::kAbsent) {
    if (expect.presence == Presence::kRepeated || !equalsIgnoreCase(expect.value, "100-continue"))
      return Refusal::kExpectationFailed;
    // A client of HTTP/1.0 does not know an interim answer (RFC 9110, 10.1.1).
    if (block.minorVersion == 1) into.expect = Expect::kContinue;
  }
  into.upgrade = findField(block, "upgrade");
  into.connectionUpgrade = connectionHolds(block, "upgrade");
  if (block.minorVersion == 0 || connectionHolds(block, "close")) into.persistence = Persistence::kClose;
  return Refusal::kNone;
}

}  // namespace factionos::front
