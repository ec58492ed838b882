// Which of a command's calls its gofer hears of (gofer.h). A pure value.
#pragma once

#include <cstdint>

#include "sandbox/namespaces.h"
#include "sandbox/seccomp.h"
#include "workers/session/command_policy.h"
#include "workers/session/protected_paths.h"

namespace factionos::session {

// Calls that make or move a name the gofer carries out itself, in any case. These, too:
struct Supervision {
  bool writes = false;    // opens what exists for writing: without mounts nothing else keeps protected files
  bool removals = false;  // removes a name: without mounts, and where a protected name leads over a link
  bool sockets =
      false;  // binds: a socket of the unix family makes a name; and connects, to name what is hidden
  bool hidden = false;  // changes directory, for the same reason
  bool ports = false;   // connects, to name the one port that is kept from it
};

Supervision supervisionOf(Network network, const sandbox::NamespacePosture& namespaces, ProtectedLinks links,
                          int landlockAbi);

// `calls` (command_calls.h), heard of: what it refuses with EPERM or EACCES is asked of the listener, which
// gives that very answer and counts it. What it answers with ENOSYS or EOPNOTSUPP is a question of a library
// that falls back, no attempt, and stays with the filter.
sandbox::SeccompPolicy supervised(sandbox::SeccompPolicy calls, const Supervision& supervision);

}  // namespace factionos::session
