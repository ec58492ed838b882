// The calls of the `command` profile: denied by list, each with an errno. A pure value.
#pragma once

#include "sandbox/namespaces.h"
#include "sandbox/seccomp.h"
#include "workers/session/prepare.h"

namespace factionos::session {

// Whether the command may make sockets of the unix family. Those of others are out of sight then, but for
// socket files that lie in its own directories.
bool mayUseUnixSockets(const sandbox::NamespacePosture& namespaces, int landlockAbi);

sandbox::SeccompPolicy commandCalls(Network network, const sandbox::NamespacePosture& namespaces,
                                    int landlockAbi);

}  // namespace factionos::session
