// User, pid, mount, network, ipc and uts namespaces, where the kernel lets an unprivileged process have them.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/need.h"

namespace factionos::sandbox {

enum class Loopback { kDown, kUp };

// Any of the others brings the user namespace with it: nobody here is root.
struct Namespaces {
  Need user = Need::kOff;
  Need pid = Need::kOff;
  Need mount = Need::kOff;
  Need network = Need::kOff;
  Need ipc = Need::kOff;
  Need uts = Need::kOff;
  Loopback loopback = Loopback::kDown;  // in a network namespace of its own: whether 127.0.0.1 answers
};

struct NamespacePosture {
  bool user = false;
  bool pid = false;  // children of the caller are in it, the caller itself is not
  bool mount = false;
  bool network = false;
  bool ipc = false;
  bool uts = false;
  std::vector<std::string_view> missing;  // labels: "user_namespace_refused", ...
};

// What a forked child could really do, one errno a kind: 0 works, else why not.
struct NamespaceSupport {
  int user = 0;
  int mount =
      0;  // including a mount made inside: a kernel may let unshare succeed and deny the rights afterwards
  int pid = 0;
  int network = 0;
  int ipc = 0;
  int uts = 0;
};

// Forks one child that tries. The caller must be single-threaded or about to exec. Never throws for a
// refusal; throws SetupError at Step::kProbe if it cannot ask at all.
NamespaceSupport probeNamespaces();

// True if anything is kIfAvailable or kRequired.
bool anyWanted(const Namespaces& wanted);

// Unshares what is wanted and works, and maps the own uid and gid to themselves (setgroups denied).
// Afterwards this process holds every capability within the new user namespace, until enter() drops them. The
// process must still be dumpable, or the kernel gives it no hand on its own maps. Throws SetupError at
// Step::kUserNamespace or kNamespaces.
NamespacePosture enterNamespaces(const Namespaces& wanted, const NamespaceSupport& support);

// The same after a probe of its own, if anything is wanted.
NamespacePosture enterNamespaces(const Namespaces& wanted);

}  // namespace factionos::sandbox
