// The report of `sandbox verify` for programs.
#pragma once

#include <span>
#include <string>

#include "sandbox/verify/run.h"

namespace factionos::walls {

// One line; docs/sandbox-verify.schema.json says what it holds. Labels and numbers: no path, no name of this
// machine or user.
std::string verifyJson(const sandbox::verify::Report& report,
                       std::span<const sandbox::verify::Subject> subjects);

}  // namespace factionos::walls
