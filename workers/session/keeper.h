// The keeper of one command's tree: init of the pid namespace where there is one, else a subreaper in a
// Landlock domain of its own. Started by fork from the session; ends when the tree has ended, and takes the
// tree with it when it ends.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "workers/session/command.h"
#include "workers/session/denial_table.h"

namespace factionos::session {

struct KeeperPlan {
  Command command;  // what depends on the namespaces (temporary, home, protected paths, environment) is
                    // filled in here
  sandbox::Namespaces namespaces;
  sandbox::NamespaceSupport support;
  std::string userHome;       // homeOfUser(), which is too slow to ask once a command is waited for
  std::string scratchParent;  // where a temporary directory is made if there is no mount namespace
  std::vector<std::pair<std::string, std::string>>
      environment;                 // besides the allowlist; HOME and TMPDIR come on top
  DenialTable* denials = nullptr;  // made before the fork, and written by the gofer
  int control = -1;                // control.h; the session's end is closed here
  pid_t session = 0;               // the witness of the signal scope
};

// Runs in the forked child and never returns. The parent has an event loop, but no threads: nothing of the
// loop is touched here, its descriptors are closed first.
[[noreturn]] void runKeeper(KeeperPlan& plan) noexcept;

}  // namespace factionos::session
