#include "workers/front/host_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "workers/front/gate.h"

namespace factionos::front {
namespace {

constexpr std::array<std::string_view, 3> kLoopbackNames = {"localhost", "127.0.0.1", "[::1]"};

bool isPort(std::string_view text) {
  unsigned port = 0;
  if (text.empty() || text.size() > 5) return false;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && stop == end && port >= 1 && port <= 65535;
}

bool isNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_';
}

bool isLiteralByte(char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

// Cuts `value` into a name (brackets kept) and the text behind its colon. False where it is neither form.
bool splitHost(std::string_view value, std::string_view& name) {
  std::string_view rest;
  if (value.starts_with('[')) {
    const std::size_t close = value.find(']');
    if (close == std::string_view::npos || close == 1) return false;
    name = value.substr(0, close + 1);
    rest = value.substr(close + 1);
    if (!std::ranges::all_of(name.substr(1, close - 1), isLiteralByte)) return false;
  } else {
    const std::size_t colon = std::min(value.find(':'), value.size());
    name = value.substr(0, colon);
    rest = value.substr(colon);
    if (name.empty() || !std::ranges::all_of(name, isNameByte)) return false;
  }
  return rest.empty() || (rest.front() == ':' && isPort(rest.substr(1)));
}

}  // namespace

HostRules::HostRules(std::vector<std::string> hosts, std::vector<std::string> origins)
    : hosts_(std::move(hosts)), origins_(std::move(origins)) {}

HostVerdict HostRules::host(std::string_view value) const {
  if (value.empty()) return HostVerdict::kRefused;  // RFC 9112 allows it; nothing of ours has no name
  std::string_view name;
  if (!splitHost(value, name)) return HostVerdict::kMalformed;
  const auto isName = [name](std::string_view known) { return equalsIgnoreCase(known, name); };
  if (std::ranges::any_of(kLoopbackNames, isName)) return HostVerdict::kAllowed;
  const auto isListed = [name, value](const std::string& known) {
    return equalsIgnoreCase(known, name) || equalsIgnoreCase(known, value);
  };
  return std::ranges::any_of(hosts_, isListed) ? HostVerdict::kAllowed : HostVerdict::kRefused;
}

OriginVerdict HostRules::origin(std::string_view origin, std::string_view host) const {
  if (std::ranges::find(origins_, origin) != origins_.end()) return OriginVerdict::kListed;
  constexpr std::string_view kScheme = "http://";
  if (origin.starts_with(kScheme) && equalsIgnoreCase(origin.substr(kScheme.size()), host))
    return OriginVerdict::kSame;
  return OriginVerdict::kRefused;
}

}  // namespace factionos::front
