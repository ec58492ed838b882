#pragma once

#include <vector>

#include "sandbox/policy.h"

namespace factionos::broker {

// The broker's own sandbox: files below its home alone, no program, no process, no socket but those that it
// was born with or accepts. `home`: descriptor of the home's directory; `children`: of /proc/self/task/TID;
// both open when the sandbox is entered. `keep`: every descriptor that stays open.
sandbox::Policy profile(int home, int children, std::vector<int> keep);

}  // namespace factionos::broker
