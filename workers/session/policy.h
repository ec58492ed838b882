// The session supervisor's own profile, in two stages.
#pragma once

#include "sandbox/landlock.h"
#include "sandbox/namespaces.h"
#include "sandbox/policy.h"
#include "sandbox/seccomp.h"

namespace factionos::session {

// From before the first message. What it refuses, the command can't have either; so it refuses only what no
// command gets, and leaves namespaces, mounts and exec to the children that need them.
sandbox::Policy policy(const sandbox::NamespaceSupport& support);

// Who ends the tree when the keeper is gone.
enum class TreeEnds {
  kWithKeeper,  // the kernel: the keeper is init of a pid namespace
  kBySession,
};

// Once the command runs: what is left to do is to listen, to reap and to kill.
sandbox::LandlockPolicy afterStartFiles(TreeEnds ends);
sandbox::SeccompPolicy afterStartCalls();

}  // namespace factionos::session
