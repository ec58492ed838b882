#include "workers/session/policy.h"

#include <cerrno>

#include <sys/syscall.h>

#include "sandbox/families.h"
#include "workers/common/descriptors.h"
#include "workers/common/namespace_support.h"

namespace factionos::session {

namespace access = sandbox::access;
namespace families = sandbox::families;
using sandbox::Need;

sandbox::Policy policy(const sandbox::NamespaceSupport& support) {
  using sandbox::refuse;
  sandbox::Policy policy;
  policy.name = "session";
  policy.keep = worker::ownDescriptors();
  // Files: it resolves programs, and its children mount; Landlock file rules would forbid every mount below.
  policy.files.scope = sandbox::FileScope::kUnrestricted;
  policy.scopes = worker::scopesAboveCommands(support);
  policy.seccomp.unlisted = sandbox::Verdict::allow();
  policy.seccomp.foreignEntry = sandbox::Verdict::fail(ENOSYS);
  policy.seccomp.rules = {
      refuse(families::ioUring(), ENOSYS, "a second way to every call"),
      refuse(families::kernelSurface(), EPERM, "nobody below needs these"),
      refuse(families::administration(), EPERM, "the machine's own affairs"),
      refuse(families::fileHandles(), EPERM, "opens files without walking a path"),
      refuse(families::terminalInjection(), EPERM, "types into a terminal"),
  };
  policy.memoryExecution =
      sandbox::MemoryExecution::kUnrestricted;  // outlives exec, and commands compile just in time
  policy.traps = sandbox::Traps::kNone;
  return policy;
}

sandbox::LandlockPolicy afterStartFiles(TreeEnds ends) {
  sandbox::LandlockPolicy policy;
  policy.files.rules.push_back(
      sandbox::allowPath("/proc", access::kRead, "finds children to kill below Landlock ABI 6"));
  // Signals: a scope that begins here shuts the keeper and its tree out, which is right exactly if this
  // process has nobody to kill any more. Else the one of policy() holds, where there is one.
  policy.scopes = {Need::kIfAvailable, ends == TreeEnds::kWithKeeper ? Need::kIfAvailable : Need::kOff};
  return policy;
}

sandbox::SeccompPolicy afterStartCalls() {
  using sandbox::allow;
  sandbox::SeccompPolicy policy;
  policy.unlisted = sandbox::Verdict::trap();
  policy.rules = {
      kill(families::trapHandlerChange(), "who replaces the handler could hide a trapped call"),
      allow(families::base(), "memory, time, ending"),
      allow(families::readWrite(), "its line and its keeper"),
      allow(families::epollLoop(), "its loop"),
      allow(families::socketIo(), "its line and its keeper"),
      allow(families::signals(), "its loop"),
      allow(families::filesRead(), "/proc, all that Landlock leaves"),
      allow(families::processInfo(), "who it is"),
      allow(families::randomness(), "hash tables of libraries"),
      allow({"lease", {{SYS_fcntl, {sandbox::is32(1, 1024)}}}}, "F_SETLEASE: lets go of the hashed files"),
      allow({"reap and kill",
             {{SYS_wait4, {}}, {SYS_kill, {}}, {SYS_pidfd_open, {}}, {SYS_pidfd_send_signal, {}}}},
            "the tree; the scope bounds it"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  return policy;
}

}  // namespace factionos::session
