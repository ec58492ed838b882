// vfork and exec, with nothing of ours between them: a copy of the page tables, and of each page that the
// loop writes to after it, would cost more than the exec.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace factionos::launcher {

struct WorkerImage {
  int directory = -1;  // O_PATH, of the executable
  const char* executable = nullptr;
  int line = -1;                 // becomes 3
  int events = -1;               // becomes 4
  std::vector<int> scopes = {};  // become 5 and up
  std::vector<std::string> environment;
  std::vector<std::string> arguments = {};  // after the name
};

inline constexpr std::size_t kMostScopes = 33;

// All descriptors are borrowed. The child has 0 to 2 of this process and those named, nothing else; default
// signals, none blocked. Ends with status 127 if exec fails. Throws std::system_error if there is no process
// left.
pid_t spawn(WorkerImage image);

}  // namespace factionos::launcher
