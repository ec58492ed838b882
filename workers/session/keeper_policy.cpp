#include "workers/session/keeper_policy.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/syscall.h>

#include "sandbox/families.h"

namespace factionos::session {

namespace families = sandbox::families;

namespace {

// What removeTree() uses beside opening and looking.
sandbox::Family removal() {
  sandbox::Family family{"removal", {{SYS_unlinkat, {}}, {SYS_fchmodat, {}}, {SYS_renameat2, {}}}};
#ifdef SYS_renameat
  family.calls.push_back({SYS_renameat, {}});
#endif
  return family;
}

}  // namespace

sandbox::Policy keeperPolicy(std::vector<int> keep) {
  using sandbox::allow;
  using sandbox::masked;
  sandbox::Policy policy;
  policy.name = "keeper";
  policy.keep = std::move(keep);
  // No Landlock domain here: the scope that the tree lives in was entered before it was born. Another domain,
  // whatever it restricts, would shut the tree out: its signals and its /proc files could not be reached. The
  // filter keeps to reading.
  policy.files.scope = sandbox::FileScope::kUnrestricted;
  policy.scopes = {sandbox::Need::kOff, sandbox::Need::kOff};

  policy.seccomp.unlisted = sandbox::Verdict::killProcess();  // the tree dies with it
  policy.seccomp.rules = {
      allow(families::base(), "memory, time, ending"),
      allow(families::readWrite(), "control socket"),
      allow(families::epollLoop(), "poll"),
      allow(families::socketIo(), "control socket"),
      allow(families::signals(), "SIGCHLD by descriptor"),
      allow({"open for reading", {{SYS_openat, {masked(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)}}}},
            "/proc, and directories below its scratch directory"),
      allow({"look", {{SYS_getdents64, {}}, {SYS_newfstatat, {}}, {SYS_statfs, {}}}}, "the same"),
      allow(families::processInfo(), "rusage of what it reaped"),
      allow({"reap and kill", {{SYS_wait4, {}}, {SYS_kill, {}}}},
            "its whole purpose; the scope or namespace bounds it"),
      allow(removal(), "the scratch directory"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  policy.traps = sandbox::Traps::kNone;
  return policy;
}

}  // namespace factionos::session
