// A command's profile together with its gofer, without a program: for who puts both to the proof.
#pragma once

#include "sandbox/namespaces.h"
#include "sandbox/policy.h"
#include "workers/session/command_policy.h"
#include "workers/session/protected_paths.h"

namespace factionos::session {

// In the order of runGofer(): everything of `policy` but its filter, then a child, which enters that and
// returns. The caller answers the child's calls as its gofer, and ends when the child has ended. `policy` is
// commandPolicy() of `scope`, or a part of it; without a filter nobody is heard. One thread, no children.
// Throws SetupError, in either process.
void enterSupervised(const sandbox::Policy& policy, const CommandScope& scope, const ProtectedPaths& paths,
                     const sandbox::NamespacePosture& namespaces);

}  // namespace factionos::session
