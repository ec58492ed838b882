// The worker's filter, compiled when the product was built.
#pragma once

#include <span>

#include "sandbox/programs.h"

namespace factionos::container {

extern const std::span<const sandbox::BuiltProgram> kPrograms;

}  // namespace factionos::container
