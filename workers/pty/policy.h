// What a pty worker may do: read and write what it was handed.
#pragma once

#include "sandbox/policy.h"

namespace factionos::pty {

sandbox::Policy policy();

}  // namespace factionos::pty
