// What each profile promises: the one table that `sandbox verify`, docs/guarantees.md and posture come from.
#pragma once

#include <span>
#include <string>

#include "sandbox/verify/guarantee.h"
#include "sandbox/verify/subject.h"

namespace factionos::walls {

// One for each pair of a promise and a profile, in the order of profiles().
std::span<const sandbox::verify::Guarantee> guarantees();

// The profiles as they are put to the proof on this machine.
std::span<const sandbox::verify::Subject> subjects();

// docs/guarantees.md.
std::string guaranteesPage();

}  // namespace factionos::walls
