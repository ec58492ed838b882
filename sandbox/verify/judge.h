// From what was seen to a verdict. Pure.
#pragma once

#include <string>
#include <utility>

#include "sandbox/verify/run.h"

namespace factionos::sandbox::verify {

// And the cause, where it is not kEnforced.
std::pair<Verdict, std::string> decide(Layer layer, const Act& act, const Seen& control, const Seen& alone,
                                       const Seen& whole);

// Fills in verdict, cause and what was seen, from the probes and the act that is allowed.
void conclude(Finding& finding, const Act& allowed, const Seen& seen);

}  // namespace factionos::sandbox::verify
