// The file system that a command sees where it has a mount namespace.
#pragma once

#include <vector>

#include "sandbox/mounts.h"
#include "sandbox/namespaces.h"

namespace factionos::session {

struct CommandScope;

// Reads from the present root which system directories exist, and which of them are links.
std::vector<sandbox::MountStep> mountPlan(const CommandScope& scope,
                                          const sandbox::NamespacePosture& namespaces);

}  // namespace factionos::session
