// The worker's filters, compiled when the product was built.
#pragma once

#include <span>

#include "sandbox/programs.h"

namespace factionos::git {

extern const std::span<const sandbox::BuiltProgram> kPrograms;

}  // namespace factionos::git
