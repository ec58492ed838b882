// The container worker's profile.
#pragma once

#include "sandbox/policy.h"

namespace factionos::container {

sandbox::Policy policy();

}  // namespace factionos::container
