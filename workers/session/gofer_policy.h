// The calls that a gofer keeps (gofer.h): on top it is held by the command's own Landlock rules, mounts and
// limits.
#pragma once

#include "sandbox/seccomp.h"

namespace factionos::session {

sandbox::SeccompPolicy goferCalls();

// A second filter: through descriptors of these numbers nothing is opened or changed, only asked whether it
// is there.
inline constexpr int kFirstLooked = 40;
inline constexpr int kMostLooked = 3;
sandbox::SeccompPolicy goferLooks();

}  // namespace factionos::session
