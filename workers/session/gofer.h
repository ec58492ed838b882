// The gofer of one command: parent of its leader, adopts what the tree leaves, and carries out in the
// callers' stead what a filter can't judge. It lives inside of the command's own Landlock rules, mounts and
// limits, so that a mistake in it can do no more than the command could; the command is one Landlock domain
// further in, and can neither trace nor, from ABI 6 on, signal it. (The name is gVisor's, for the same
// errand.)
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "workers/session/command.h"
#include "workers/session/denial_table.h"
#include "workers/session/observer.h"
#include "workers/session/protected_paths.h"

namespace factionos::session {

// Gofer to keeper, over a pipe. End of file: it is dead, and nothing that waits will ever be answered.
struct GoferReport {
  enum class Kind : std::uint32_t { kLeader = 1, kLeaderEnded = 2 };
  Kind kind = Kind::kLeader;
  std::int32_t value =
      0;  // pid; a status as of wait(2). The leader is left unreaped, so that its number stays its own
};
static_assert(sizeof(GoferReport) == 8);

struct GoferPlan {
  Command* command = nullptr;
  sandbox::NamespacePosture namespaces;
  ProtectedPaths paths;
  DenialTable* denials = nullptr;
  std::string state;     // FactionOS's home, to tell it from others in what is counted; empty: not known
  std::string userHome;  // likewise
  Machine machine;       // opened by runGofer()
  int status = -1;       // becomeCommand()'s
  int line = -1;         // of GoferReport
};

// Runs in a child of the keeper, which has become that child's reaper of last resort. Never returns.
[[noreturn]] void runGofer(GoferPlan& plan) noexcept;

// The last of it: enters the gofer's own profile and answers what `listener` hears of, for a command that was
// started otherwise, as `leader`; of the plan `line` and `status` may be -1. Never returns. Throws
// SetupError.
[[noreturn]] void serveCalls(GoferPlan& plan, sandbox::Fd listener, pid_t leader);

}  // namespace factionos::session
