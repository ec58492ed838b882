// The launcher's own profile.
#pragma once

#include "sandbox/policy.h"

namespace factionos::launcher {

// `programs`: the directory that holds the workers' executables (O_PATH).
sandbox::Policy policy(int programs);

}  // namespace factionos::launcher
