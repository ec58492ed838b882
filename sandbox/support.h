// What this kernel gives an unprivileged process here and now, asked by system calls: no version string,
// nothing under /sys/kernel is read.
#pragma once

#include <string>

#include "sandbox/namespaces.h"

namespace factionos::sandbox {

struct KernelSupport {
  int landlockAbi = 0;         // 0: none
  bool seccompFilter = false;  // with errno, trap and kill-process verdicts
  bool seccompNotify = false;  // user notification: canSupervise(), and no listener around ours in the way
  bool seccompThreadSync = false;
  NamespaceSupport namespaces;  // errno a kind, 0 works
  std::string cgroupDirectory;  // a cgroup v2 directory in which we made and removed a child, empty if none
  int pty = 0;                  // 0 works, else errno of opening a pair
};

// Forks two children, one after the other (namespaces.h, a listener). Throws SetupError at Step::kProbe if it
// cannot ask.
KernelSupport probeKernel();

}  // namespace factionos::sandbox
