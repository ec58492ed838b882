#pragma once

#include <chrono>

#include "sandbox/descriptors.h"
#include "sandbox/seccomp.h"

namespace factionos::broker {

// What the launcher leaves when it dies: its children become the broker's, a subreaper's, and are ended here.
class AdoptedChildren {
 public:
  // Opens the list of this process's children, which a sandbox without /proc can't open later. Throws
  // std::system_error.
  AdoptedChildren();
  int fd() const { return task_.get(); }

  // Kills and reaps until no child is left. False if some still lived when the time was over.
  bool endAll(std::chrono::milliseconds limit) const;

 private:
  sandbox::Fd task_;  // /proc/self/task/TID
};

// kill of one process by its pid, wait4, waitid.
sandbox::Family adoptedChildren();

}  // namespace factionos::broker
