// Reads the kernel's records of Landlock's denials, of everybody's: a process of its own that can do nothing
// but read from the one socket and write to the launcher.
#pragma once

#include <vector>

#include <sys/types.h>

#include "sandbox/descriptors.h"
#include "sandbox/policy.h"

namespace factionos::launcher {

sandbox::Policy auditReaderPolicy(std::vector<int> keep);

struct AuditReader {
  pid_t process = 0;
  sandbox::Fd line;  // of worker::AuditedDenial, one a datagram
};

// Forks it, and lets go of `socket`. After the launcher's own sandbox was entered, so that it can end it, and
// before threads. It ends when the line does. Throws std::system_error.
AuditReader startAuditReader(sandbox::Fd socket);

}  // namespace factionos::launcher
