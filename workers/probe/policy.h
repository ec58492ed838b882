// What the probe and the program that it starts may do.
#pragma once

#include <cstdint>

#include "sandbox/policy.h"

namespace factionos::probe {

// The worker's own profile, which the program inherits. `program`: O_PATH, what is started; borrowed. -1 is
// good for showing. `userTasks`: what its user has running elsewhere.
sandbox::Policy policy(int program, std::uint32_t userTasks);

// What the program is narrowed to, on top of that, before it is executed.
sandbox::Policy programPolicy(int program, std::uint32_t userTasks);

}  // namespace factionos::probe
