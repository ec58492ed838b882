// The one way into a sandbox.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/policy.h"
#include "sandbox/setup_error.h"

namespace factionos::sandbox {

// What stands afterwards. Labels and numbers only, fit for diagnostics.
struct Posture {
  std::string_view policy;
  NamespacePosture namespaces;
  bool mountsApplied = false;
  bool capabilitiesDropped = false;
  bool boundingSetDropped = false;  // only who has CAP_SETPCAP can; without it no_new_privs says the same
  bool noNewPrivileges = false;
  bool dumpable = true;  // false once it stands
  bool memoryExecutionRefused = false;
  LandlockPosture landlock;
  int seccompMode = 0;  // 0 none, 2 filter
  std::vector<std::string_view>
      missing;  // every layer that the policy would take and that is not there, as labels
};

// Carries the policy out on this process, in this order, each step for a reason told beside it in enter.cpp:
//   identity, descriptors, limits, user namespace and maps, other namespaces and mounts, capabilities,
//   no_new_privs, dumpable, Landlock, seccomp, self-check.
// The caller has one thread, no event loop, and is not root. Nothing can be undone: after a SetupError the
// process must end without doing anything else. A pid namespace needs a fork between two halves: see
// enterInside().
Posture enter(const Policy& policy);

// The second half, for a process forked after enterNamespaces(policy.namespaces) by its parent: everything
// else, in the same order. `namespaces` is what the parent was given. With policy.mounts the caller is
// expected to be inside the pid namespace, so that proc is its own.
Posture enterInside(const Policy& policy, const NamespacePosture& namespaces);

// Narrows a process that has entered a sandbox already, once it has less to do: Landlock, trap handler,
// seccomp, whose listener, if it notifies, is handed over. No self-check: the rules of `seccomp` are all that
// it may do from here on.
void narrow(const LandlockPolicy& landlock, const SeccompPolicy& seccomp, Traps traps);

}  // namespace factionos::sandbox
