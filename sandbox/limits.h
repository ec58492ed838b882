#pragma once

#include <span>
#include <string_view>

#include <sys/resource.h>

namespace factionos::sandbox {

// One resource limit. Soft and hard become the same value, and are only ever lowered: a hard limit that is
// lower already stays.
struct Limit {
  int resource = RLIMIT_CORE;  // RLIMIT_*
  rlim_t value = 0;            // in the resource's own unit: bytes, seconds of CPU, a count
  std::string_view reason;
};

// Throws SetupError at Step::kLimits.
void applyLimits(std::span<const Limit> limits);

}  // namespace factionos::sandbox
