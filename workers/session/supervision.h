// Which of a command's calls its gofer hears of (gofer.h). A pure value.
#pragma once

#include <cstdint>
#include <vector>

#include "sandbox/namespaces.h"
#include "sandbox/seccomp.h"
#include "workers/session/command_policy.h"

namespace factionos::session {

// Calls that make, move or remove a name, and opens for writing, the gofer carries out itself, in any case: a
// mount over a protected file keeps it only until somebody outside puts another file in its place, as git
// does with its settings. These, too:
struct Supervision {
  bool sockets =
      false;  // binds: a socket of the unix family makes a name; and connects, to name what is hidden
  bool hidden = false;                           // changes directory, for the same reason
  bool ports = false;                            // connects, to name the one port that is kept from it
  std::vector<std::uint32_t> unheardOpens = {};  // sandbox::libraryOpens(), or empty: every open for reading
};

Supervision supervisionOf(Network network, const sandbox::NamespacePosture& namespaces, int landlockAbi);

// `calls` (command_calls.h), heard of: what it refuses with EPERM or EACCES is asked of the listener, which
// gives that very answer and counts it. What it answers with ENOSYS or EOPNOTSUPP is a question of a library
// that falls back, no attempt, and stays with the filter.
sandbox::SeccompPolicy supervised(sandbox::SeccompPolicy calls, const Supervision& supervision);

}  // namespace factionos::session
