#pragma once

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

namespace factionos::broker {

// Asks `settled` until it says yes, each time that `changed` resolves, at most until `deadline`.
inline kj::Promise<void> whileWaiting(kj::Timer& timer, kj::TimePoint deadline,
                                      kj::Function<kj::Promise<void>()> changed,
                                      kj::Function<bool()> settled) {
  if (settled() || timer.now() >= deadline) return kj::READY_NOW;
  return changed()
      .exclusiveJoin(timer.atTime(deadline))
      .then([&timer, deadline, changed = kj::mv(changed), settled = kj::mv(settled)]() mutable {
        return whileWaiting(timer, deadline, kj::mv(changed), kj::mv(settled));
      });
}

}  // namespace factionos::broker
