#include "workers/launcher/policy.h"

#include <cerrno>

#include "sandbox/families.h"
#include "workers/common/descriptors.h"
#include "workers/common/namespace_support.h"

namespace factionos::launcher {

namespace families = sandbox::families;

// Filters and Landlock only narrow: what is refused here, no worker and no command can have. So it is no
// stricter than all of them together. That the launcher opens no network and no state is a property of its
// few hundred lines, not a wall.
sandbox::Policy policy(int programs, const sandbox::NamespaceSupport& support) {
  using sandbox::refuse;
  sandbox::Policy policy;
  policy.name = "launcher";
  policy.keep = worker::ownDescriptors({worker::kScope, programs});
  policy.files.scope = sandbox::FileScope::kUnrestricted;  // sessions mount, which Landlock file rules forbid
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

}  // namespace factionos::launcher
