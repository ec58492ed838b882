// A report in words and for CI; as JSON: broker/walls/verify_json.h. Holds labels and numbers: no path, no
// name of this machine or user.
#pragma once

#include <iosfwd>

#include "sandbox/verify/run.h"

namespace factionos::sandbox::verify {

// For a person, to be pasted into a review.
void writeText(std::ostream& out, const Report& report, std::span<const Subject> subjects);

// One suite a profile, one case a guarantee. What does not count and is not enforced is skipped there, the
// rest fails.
void writeJunit(std::ostream& out, const Report& report, std::span<const Subject> subjects);

}  // namespace factionos::sandbox::verify
