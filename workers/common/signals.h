#pragma once

namespace factionos::worker {

// Signals as a program expects them after login: nothing handled or ignored, nothing blocked. System calls
// alone, so that it may be called between vfork and exec.
void defaultSignals() noexcept;

}  // namespace factionos::worker
