// The session supervisor's own profile, in two stages.
#pragma once

#include "sandbox/landlock.h"
#include "sandbox/policy.h"
#include "sandbox/seccomp.h"

namespace factionos::session {

// From before the first message. What it refuses, the command can't have either; so it refuses only what no
// command gets, and leaves namespaces, mounts and exec to the children that need them.
sandbox::Policy policy();

// Once the command runs: what is left to do is to listen, to reap and to kill.
sandbox::LandlockPolicy afterStartFiles();
sandbox::SeccompPolicy afterStartCalls();

}  // namespace factionos::session
