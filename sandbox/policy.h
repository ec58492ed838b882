// A sandbox as a plain value that a reviewer reads: policy.cpp of each role makes one, enter() carries it
// out.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/landlock.h"
#include "sandbox/limits.h"
#include "sandbox/mounts.h"
#include "sandbox/namespaces.h"
#include "sandbox/seccomp.h"

namespace factionos::sandbox {

// PR_SET_MDWE where the kernel has it (6.3): no page gains execution after it was writable. It outlives fork
// and exec, so whoever starts programs that translate code at run time leaves it off.
enum class MemoryExecution { kUnrestricted, kRefuseGain };

enum class Traps {
  kNone,    // no trap verdict in the policy, or the process executes another program at once (handlers end
            // there)
  kReport,  // the handler that writes to descriptor 4 is installed, and changing it kills the process
};

struct Policy {
  std::string_view name;      // a label, for events and diagnostics
  std::vector<int> keep;      // what stays open; every other descriptor is closed, 0 to 2 included
  std::vector<Limit> limits;  // RLIMIT_CORE becomes 1, no core dump, in any case
  Namespaces namespaces;
  std::vector<MountStep>
      mounts;       // done where there is a mount namespace, else left out and named in the posture
  FileRules files;  // default: nothing can be opened
  TcpRules tcp;     // default: not restricted by Landlock
  Scopes scopes;    // default: both required
  DenialLog denialLog = DenialLog::kAsUsual;
  SeccompPolicy seccomp;  // default: every call traps
  MemoryExecution memoryExecution = MemoryExecution::kRefuseGain;
  Traps traps = Traps::kReport;  // needs kEventDescriptor in `keep`
};

}  // namespace factionos::sandbox
