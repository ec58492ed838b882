#include "workers/session/gofer_policy.h"

#include <sys/syscall.h>

#include "sandbox/families.h"
#include "sandbox/notify.h"

namespace factionos::session {

namespace families = sandbox::families;

sandbox::SeccompPolicy goferCalls() {
  using sandbox::allow;
  sandbox::SeccompPolicy policy;
  policy.unlisted = sandbox::Verdict::killProcess();  // the keeper ends the tree then
  policy.rules = {
      allow(families::base(), "memory, time, ending"),
      allow(families::readWrite(), "its line, the count of denials"),
      allow(families::signals(), "SIGCHLD"),
      allow(families::filesRead(), "walks a caller's path"),
      allow(families::filesWrite(), "what callers ask for"),
      allow({"nodes", {{SYS_mknodat, {}}, {SYS_bind, {}}, {SYS_fchdir, {}}, {SYS_chdir, {}}}}, "the same"),
      allow(sandbox::listenerCalls(), "hears and answers"),
      allow({"callers",
             {{SYS_process_vm_readv, {}}, {SYS_pidfd_open, {}}, {SYS_pidfd_getfd, {}}, {SYS_getsid, {}}}},
            "looks at who asks; Landlock keeps it to the command's own processes"),
      allow({"children", {{SYS_waitid, {}}, {SYS_wait4, {}}}}, "reaps what the command left"),
      allow(families::processes(), "another waits where a call waits"),
      allow(families::processInfo(), "who it is"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  return policy;
}

sandbox::SeccompPolicy goferLooks() {
  sandbox::Family through{"through", {}};
  for (std::uint32_t number = kFirstLooked; number < kFirstLooked + kMostLooked; ++number) {
    for (const int call : {SYS_openat, SYS_openat2, SYS_mkdirat, SYS_mknodat, SYS_unlinkat, SYS_linkat,
                           SYS_renameat2, SYS_fchmodat, SYS_utimensat, SYS_fchdir, SYS_dup, SYS_dup3}) {
      through.calls.push_back({call, {sandbox::is32(0, number)}});
    }
    through.calls.push_back({SYS_symlinkat, {sandbox::is32(1, number)}});
  }
  for (std::uint32_t number = kFirstLooked; number < kFirstLooked + kMostLooked; ++number) {
    through.calls.push_back({SYS_linkat, {sandbox::is32(2, number)}});
    through.calls.push_back({SYS_renameat2, {sandbox::is32(2, number)}});
  }
  sandbox::SeccompPolicy policy;
  policy.unlisted = sandbox::Verdict::allow();
  policy.rules = {kill(std::move(through), "they lead past the command's mounts")};
  return policy;
}

}  // namespace factionos::session
