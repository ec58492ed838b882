// What the keeper itself may do once the command runs.
#pragma once

#include <vector>

#include "sandbox/policy.h"

namespace factionos::session {

sandbox::Policy keeperPolicy(std::vector<int> keep);

}  // namespace factionos::session
