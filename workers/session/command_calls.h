// The calls of the `command` profile: denied by list, each with an errno. A pure value.
#pragma once

#include "sandbox/namespaces.h"
#include "sandbox/seccomp.h"
#include "workers/session/prepare.h"

namespace factionos::session {

sandbox::SeccompPolicy commandCalls(Network network, const sandbox::NamespacePosture& namespaces,
                                    int landlockAbi);

}  // namespace factionos::session
