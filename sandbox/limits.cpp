#include "sandbox/limits.h"

#include <algorithm>

#include "sandbox/setup_error.h"

namespace factionos::sandbox {

void applyLimits(std::span<const Limit> limits) {
  for (const Limit& limit : limits) {
    const auto resource = static_cast<__rlimit_resource_t>(limit.resource);
    rlimit present{};
    checked(Step::kLimits, getrlimit(resource, &present), "limit_unreadable");
    const rlim_t value = std::min(limit.value, present.rlim_max);
    const rlimit lowered{value, value};
    checked(Step::kLimits, setrlimit(resource, &lowered), "limit_refused");
  }
}

}  // namespace factionos::sandbox
