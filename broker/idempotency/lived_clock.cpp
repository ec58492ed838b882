#include "broker/idempotency/lived_clock.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace factionos::idempotency {

LivedClock::LivedClock(std::uint64_t base, std::function<std::int64_t()> steadyMs)
    : base_(static_cast<std::int64_t>(base)), steadyMs_(std::move(steadyMs)), start_(steadyMs_()) {}

LivedTime LivedClock::now() const {
  return LivedTime{base_ + std::max<std::int64_t>(0, steadyMs_() - start_)};
}

std::int64_t LivedClock::bootTimeMs() {
  timespec time{};
  // Counts while the machine sleeps: that is real time too.
  if (::clock_gettime(CLOCK_BOOTTIME, &time) != 0) return 0;
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

}  // namespace factionos::idempotency
