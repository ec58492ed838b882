// From what was seen to a verdict. Pure.
#pragma once

#include <string>

#include "sandbox/verify/run.h"

namespace factionos::sandbox::verify {

struct Judgement {
  Verdict verdict = Verdict::kInconclusive;
  std::string cause;           // empty if enforced
  bool refusedAround = false;  // inconclusive because a filter that is not ours refuses the control, too
};

Judgement decide(Layer layer, const Act& act, const Seen& control, const Seen& alone, const Seen& whole,
                 Around around);

// Fills in verdict, cause and what was seen, from the probes and the act that is allowed.
void conclude(Finding& finding, const Act& allowed, const Seen& seen);

}  // namespace factionos::sandbox::verify
