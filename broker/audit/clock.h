#pragma once

#include <chrono>
#include <functional>

namespace factionos::audit {

// Wall time, UTC, milliseconds since the Unix epoch. It may step back; nothing orders by it.
using Time = std::chrono::sys_time<std::chrono::milliseconds>;
// Where a component reads the time from, so that a test can set it. Called from the thread that uses the
// component.
using Clock = std::function<Time()>;

inline Time systemNow() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

}  // namespace factionos::audit
