#include "workers/session/keeper_policy.h"

#include <cerrno>

#include <sys/syscall.h>

#include "sandbox/families.h"

namespace factionos::session {

namespace access = sandbox::access;
namespace families = sandbox::families;

sandbox::Policy keeperPolicy(std::vector<int> keep, const std::string& scratchParent) {
  using sandbox::allow;
  sandbox::Policy policy;
  policy.name = "keeper";
  policy.keep = std::move(keep);

  policy.files.rules.push_back(sandbox::allowPath("/proc", access::kRead, "measures the tree"));
  if (!scratchParent.empty()) {
    policy.files.rules.push_back(sandbox::allowPath(scratchParent, access::kRead | access::kRemove,
                                                    "removes the session's directory"));
  }
  // Signals: the scope that the tree lives in was entered before it; another one here would shut the tree
  // out.
  policy.scopes = {sandbox::Need::kIfAvailable, sandbox::Need::kOff};

  policy.seccomp.unlisted = sandbox::Verdict::killProcess();  // the tree dies with it
  policy.seccomp.rules = {
      allow(families::base(), "memory, time, ending"),
      allow(families::readWrite(), "control socket"),
      allow(families::epollLoop(), "poll"),
      allow(families::socketIo(), "control socket"),
      allow(families::signals(), "SIGCHLD by descriptor"),
      allow(families::filesRead(), "/proc, and the tree of its scratch directory"),
      allow(families::processInfo(), "rusage of what it reaped"),
      allow({"reap and kill", {{SYS_wait4, {}}, {SYS_kill, {}}}},
            "its whole purpose; the scope or namespace bounds it"),
      allow({"remove", {{SYS_unlinkat, {}}, {SYS_fchmod, {}}}}, "the scratch directory"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  policy.traps = sandbox::Traps::kNone;
  return policy;
}

}  // namespace factionos::session
