// What a file worker may do: read and change the files of one workspace, and nothing else.
#pragma once

#include "sandbox/policy.h"

namespace factionos::file {

// `workspace`: O_PATH directory, borrowed, open when the policy is entered; -1 for showing and compiling.
sandbox::Policy policy(int workspace);

}  // namespace factionos::file
