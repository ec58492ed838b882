// The filters of the worker and of the program, compiled when the product was built.
#pragma once

#include <span>

#include "sandbox/programs.h"

namespace factionos::probe {

extern const std::span<const sandbox::BuiltProgram> kPrograms;

}  // namespace factionos::probe
