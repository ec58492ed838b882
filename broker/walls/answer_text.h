// What `sandbox explain` prints. The target itself is not repeated: it may be a path that belongs on no
// screen.
#pragma once

#include <string>

#include "sandbox/explain/explain.h"

namespace factionos::walls {

enum class Verdict {
  kAllowed,
  kDenied,  // by a rule of ours
  kFails,   // by none of ours: it is missing, file modes forbid it, or it is of another kind
};
Verdict verdictOf(const sandbox::explain::Answer& answer);

std::string asText(const sandbox::explain::Answer& answer);
// One JSON object, with a newline at its end.
std::string asJson(const sandbox::explain::Answer& answer);

}  // namespace factionos::walls
