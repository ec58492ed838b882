// What the keeper itself may do once the command runs.
#pragma once

#include <string>
#include <vector>

#include "sandbox/policy.h"

namespace factionos::session {

// `scratchParent`: the directory below which it removes the session's own one; empty: none.
sandbox::Policy keeperPolicy(std::vector<int> keep, const std::string& scratchParent);

}  // namespace factionos::session
