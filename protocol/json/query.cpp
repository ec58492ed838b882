#include <algorithm>

#include "protocol/json/reader.h"
#include "protocol/json/scalars.h"

namespace factionos::json {
namespace {

constexpr std::size_t kMaxPairs = 16;

JsonError malformed() {
  return {.field = {}, .detail = "The query is not a list of distinct name=value pairs."};
}

std::optional<std::string> percentDecoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c <= ' ' || c > '~') return std::nullopt;
    if (c != '%') {
      out += c;
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    int high = hexDigit(text[i + 1]);
    int low = hexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

ReadResult parseQuery(std::string_view raw, std::vector<QueryPair>& pairs) {
  pairs.clear();
  while (!raw.empty()) {
    std::size_t end = std::min(raw.find('&'), raw.size());
    std::string_view pair = raw.substr(0, end);
    raw.remove_prefix(end);
    if (!raw.empty()) {
      raw.remove_prefix(1);
      if (raw.empty()) return malformed();  // a '&' at the end
    }
    std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0 || pairs.size() == kMaxPairs) return malformed();
    auto name = percentDecoded(pair.substr(0, equals));
    auto value = percentDecoded(pair.substr(equals + 1));
    if (!name || !value) return malformed();
    bool repeated =
        std::any_of(pairs.begin(), pairs.end(), [&](const QueryPair& p) { return p.name == *name; });
    if (repeated) return malformed();
    pairs.push_back({.name = std::move(*name), .value = std::move(*value)});
  }
  return std::nullopt;
}

}  // namespace factionos::json
