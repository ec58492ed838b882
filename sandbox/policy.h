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

enum class Dumpable {
  kNo,   // /proc/self is root's, nobody attaches, no core
  kYes,  // only for a process that executes another program at once, which resets it anyway
};

enum class MemoryExecution {
  kUnrestricted,
  kRefuseGain,  // PR_SET_MDWE where the kernel has it (6.3): no page gains execution after it was writable.
                // Outlives exec.
};

enum class Traps {
  kNone,    // the policy has no trap verdict, or the process executes another program at once
  kReport,  // install the handler that writes to eventDescriptor
};

struct Policy {
  std::string_view name;      // a label, for events and diagnostics
  std::vector<int> keep;      // descriptors that stay open; every other one is closed, 0 to 2 included
  int eventDescriptor = 4;    // where a trapped call is reported; must be in `keep` with Traps::kReport
  std::vector<Limit> limits;  // RLIMIT_CORE is set to 0 in any case
  Namespaces namespaces;
  std::vector<MountStep>
      mounts;       // need namespaces.mount; left out, with a word in the posture, where that is not there
  FileRules files;  // default: nothing can be opened
  TcpRules tcp;
  Scopes scopes;          // default: required
  SeccompPolicy seccomp;  // default: everything traps
  Dumpable dumpable = Dumpable::kNo;
  MemoryExecution memoryExecution = MemoryExecution::kRefuseGain;
  Traps traps = Traps::kReport;
};

}  // namespace factionos::sandbox
