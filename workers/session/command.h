// The last steps of a process before it becomes the user's command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "sandbox/namespaces.h"
#include "sandbox/setup_error.h"
#include "workers/session/command_policy.h"
#include "workers/session/hold.h"
#include "workers/session/supervision.h"

namespace factionos::session {

// What is to be executed and in what; borrowed descriptors of the calling process.
struct Command {
  CommandScope scope;
  int workspace = -1;   // O_PATH; proves that the path still names it
  int executable = -1;  // the hashed descriptor that is given to execveat
  FileState executableState;
  std::vector<NamedFile> operands;          // must be what they were, the moment before
  int script = -1;                          // stays open in the command; -1: none
  int terminal = -1;                        // slave side
  std::vector<std::uint32_t> unheardOpens;  // Supervision's
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};

inline constexpr mode_t kUsualMask = 022;

// The first half, for the command and its gofer together: all of the command's profile but the calls. Writes
// to `status` (a pipe that closes on exec) one line for each label of the posture. Throws SetupError.
void enterFiles(const Command& command, const sandbox::NamespacePosture& namespaces, int status);

// The second half, in a child of who entered the first. Never returns. Hands the filter's listener over by
// `listenerTo`, or closes it unused where the kernel gives none; -1: asks for none. Adds lines to `status`;
// if a step fails, one more line "!STEP ERRNO REASON" follows before the process ends. End of file without
// that line: the command runs.
[[noreturn]] void becomeCommand(Command& command, const sandbox::NamespacePosture& namespaces, int listenerTo,
                                int status) noexcept;

// The filter of it alone, one Landlock domain further in than the gofer, who may look in there and whom
// nobody may touch from there. `listenerTo` as above. Throws SetupError.
Supervised enterFilter(const sandbox::Policy& policy, const Supervision& supervision, int listenerTo);

void tellFailure(int status, const sandbox::SetupError& error) noexcept;

}  // namespace factionos::session
