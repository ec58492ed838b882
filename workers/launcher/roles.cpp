#include "workers/launcher/roles.h"

#include <algorithm>
#include <array>

namespace factionos::launcher {
namespace {

constexpr std::array kRoles = {
    RoleRow{schema::Role::FRONT, "front", ScopeKind::kNone, LineKind::kGiven},
    RoleRow{schema::Role::PTY, "pty", ScopeKind::kNone, LineKind::kGiven},
    RoleRow{schema::Role::GIT, "git", ScopeKind::kRepository, LineKind::kGiven},
    RoleRow{schema::Role::SESSION, "session", ScopeKind::kWorkspace, LineKind::kOwn},
    RoleRow{schema::Role::FILE, "file", ScopeKind::kWorkspace, LineKind::kGiven},
    RoleRow{schema::Role::CONTAINER, "container", ScopeKind::kNone, LineKind::kGiven},
    RoleRow{schema::Role::PROBE, "probe", ScopeKind::kProgram, LineKind::kGiven},
};

}  // namespace

const RoleRow* findRole(schema::Role role) {
  const auto* row = std::ranges::find(kRoles, role, &RoleRow::role);
  return row == kRoles.end() ? nullptr : row;
}

}  // namespace factionos::launcher
