#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace factionos::idempotency {

// Milliseconds that brokers of this home have run, over all their starts. It never goes back and never runs
// faster than real time, whatever is done to the wall clock: time while no broker runs does not count, nor
// does what passed after the last commit before a crash. A key that lives for 24 h of it lives for at least
// 24 h.
struct LivedTime {
  std::int64_t ms = 0;
  auto operator<=>(const LivedTime&) const = default;
};

class LivedClock {
 public:
  // `base`: Counter::kLivedMs of the state. `steadyMs`: a clock that only goes forward (CLOCK_BOOTTIME by
  // default).
  explicit LivedClock(std::uint64_t base, std::function<std::int64_t()> steadyMs = bootTimeMs);

  LivedTime now() const;

  static std::int64_t bootTimeMs();

 private:
  std::int64_t base_;
  std::function<std::int64_t()> steadyMs_;
  std::int64_t start_;
};

}  // namespace factionos::idempotency
