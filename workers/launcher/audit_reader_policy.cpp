#include <cerrno>

#include <sys/resource.h>

#include "sandbox/families.h"
#include "workers/launcher/audit_reader.h"

namespace factionos::launcher {

namespace families = sandbox::families;

sandbox::Policy auditReaderPolicy(std::vector<int> keep) {
  using sandbox::allow;
  sandbox::Policy policy;
  policy.name = "audit-reader";
  policy.keep = std::move(keep);
  policy.limits = {{RLIMIT_NOFILE, 64, "the records and the line, and what entering opens"},
                   {RLIMIT_FSIZE, 0, "writes to no file"},
                   {RLIMIT_NPROC, 0, "starts nothing"}};
  policy.seccomp.unlisted = sandbox::Verdict::killProcess();
  policy.seccomp.rules = {
      allow(families::base(), "memory, ending"),
      allow(families::readWrite(), "the launcher's line"),
      allow(families::socketIo(), "the kernel's records, and the same line"),
      allow(families::epollLoop(), "poll"),
      refuse(families::filesRead(), EACCES, "libc looks for files at odd times"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  policy.traps = sandbox::Traps::kNone;
  return policy;
}

}  // namespace factionos::launcher
