// The filters of everything that a session enters or becomes, compiled when the product was built.
#pragma once

#include <span>
#include <vector>

#include "sandbox/programs.h"

namespace factionos::session {

extern const std::span<const sandbox::BuiltProgram> kPrograms;

// What is built in: session before and after the start, keeper, and command with every network, with all of
// the namespaces that it asks for and with none. A kernel that gives some of them alone has them compiled
// when needed.
std::vector<sandbox::SeccompPolicy> builtInPolicies();

}  // namespace factionos::session
