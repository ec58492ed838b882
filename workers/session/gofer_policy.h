// The calls that a gofer keeps (gofer.h): on top it is held by the command's own Landlock rules, mounts and
// limits.
#pragma once

#include "sandbox/seccomp.h"

namespace factionos::session {

sandbox::SeccompPolicy goferCalls();

}  // namespace factionos::session
