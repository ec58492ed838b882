#include "broker/identity/principal.h"

namespace factionos::identity {

const char* label(PrincipalKind kind) {
  switch (kind) {
    case PrincipalKind::kToken:
      return "token";
    case PrincipalKind::kUid:
      return "uid";
    case PrincipalKind::kOperator:
      return "operator";
  }
  return "";
}

std::string Principal::id() const {
  if (kind == PrincipalKind::kOperator) return label(kind);
  return std::string(label(kind)) + ":" + name;
}

Principal operatorPrincipal() {
  return {"operator", PrincipalKind::kOperator, ScopeSet::of(Scope::kRead, Scope::kApprove, Scope::kAdmin)};
}

UidTable UidTable::fromConfig(const home::Config& config, uid_t brokerUid) {
  UidTable table;
  if (config.mode == home::Mode::kUser) {
    table.rows_.push_back(
        {brokerUid, {kOwnerName, PrincipalKind::kUid, ScopeSet::of(Scope::kRead, Scope::kPropose)}});
    return table;
  }
  for (const home::PrincipalEntry& entry : config.principals) {
    table.rows_.push_back({entry.uid, {entry.name, PrincipalKind::kUid, entry.scopes}});
  }
  return table;
}

std::optional<Principal> UidTable::find(uid_t uid) const {
  for (const Row& row : rows_) {
    if (row.uid == uid) return row.principal;
  }
  return std::nullopt;
}

}  // namespace factionos::identity
