#include "broker/identity/scope.h"

namespace factionos::identity {

const char* label(Scope scope) {
  switch (scope) {
    case Scope::kIngest:
      return "ingest";
    case Scope::kRead:
      return "read";
    case Scope::kPropose:
      return "propose";
    case Scope::kApprove:
      return "approve";
    case Scope::kAdmin:
      return "admin";
  }
  return "";
}

std::optional<Scope> parseScope(std::string_view text) {
  for (const Scope scope : kAllScopes) {
    if (text == label(scope)) return scope;
  }
  return std::nullopt;
}

std::string ScopeSet::text() const {
  std::string out;
  for (const Scope scope : kAllScopes) {
    if (has(scope)) out.append(out.empty() ? "" : ",").append(label(scope));
  }
  return out;
}

std::optional<ScopeSet> ScopeSet::parse(std::string_view commaSeparated) {
  ScopeSet set;
  while (true) {
    const std::size_t comma = commaSeparated.find(',');
    const auto scope = parseScope(commaSeparated.substr(0, comma));
    if (!scope || set.has(*scope)) return std::nullopt;
    set.add(*scope);
    if (comma == std::string_view::npos) return set;
    commaSeparated.remove_prefix(comma + 1);
  }
}

}  // namespace factionos::identity
