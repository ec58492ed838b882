// A pseudo-terminal of its own for one command.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "sandbox/descriptors.h"
#include "workers/session/denied.h"

namespace factionos::session {

struct WindowSize {
  std::uint16_t columns = 80;  // 1 to 1000
  std::uint16_t rows = 24;     // 1 to 1000
};

inline constexpr std::uint16_t kLargestWindow = 1000;

struct PtyPair {
  sandbox::Fd master;
  sandbox::Fd slave;      // not the controlling terminal of anybody yet
  std::string slavePath;  // "/dev/pts/3"
};

// Denied: "pty_unavailable" with the step that failed as rule; "window_invalid".
std::variant<PtyPair, Denied> openPtyPair(WindowSize size);

}  // namespace factionos::session
