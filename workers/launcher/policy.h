// The launcher's own profile.
#pragma once

#include "sandbox/namespaces.h"
#include "sandbox/policy.h"

namespace factionos::launcher {

// `programs`: the directory that holds the workers' executables (O_PATH). `support`: what namespaces
// commands will have.
sandbox::Policy policy(int programs, const sandbox::NamespaceSupport& support);

}  // namespace factionos::launcher
