#include "workers/session/gofer_policy.h"

#include <algorithm>
#include <initializer_list>

#include <fcntl.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sandbox/families.h"
#include "sandbox/notify.h"
#include "sandbox/syscalls.h"

namespace factionos::session {

namespace families = sandbox::families;

namespace {

sandbox::Family without(sandbox::Family family, std::initializer_list<int> numbers) {
  std::erase_if(family.calls, [numbers](const sandbox::Call& call) {
    return std::ranges::find(numbers, call.number) != numbers.end();
  });
  return family;
}

// Of a mode everything but the set-user-id and the set-group-id bit. openat2(), whose mode no filter sees, is
// not among its calls.
sandbox::Family nodes() {
  constexpr std::uint64_t kSetId = S_ISUID | S_ISGID;
  constexpr std::uint64_t kMakes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
  return {"nodes",
          {{SYS_openat, {sandbox::masked(2, kMakes, 0)}},
           {SYS_openat, {sandbox::masked(3, kSetId, 0)}},
           {SYS_mknodat, {sandbox::masked(2, kSetId, 0)}},
           {SYS_bind, {}},
           {SYS_fchdir, {}},
           {SYS_chdir, {}}}};
}

}  // namespace

sandbox::SeccompPolicy goferCalls() {
  using sandbox::allow;
  sandbox::SeccompPolicy policy;
  policy.unlisted = sandbox::Verdict::killProcess();  // the keeper ends the tree then
  policy.rules = {
      allow(families::base(), "memory, time, ending"),
      allow(families::readWrite(), "its line, the count of denials"),
      allow(families::signals(), "SIGCHLD"),
      allow(without(families::filesRead(), {SCMP_SYS(open), SYS_openat, SYS_openat2}),
            "walks a caller's path"),
      allow(without(families::filesWrite(), {SYS_fchmod, SYS_fchmodat, sandbox::calls::kFchmodat2}),
            "what callers ask for"),
      allow(nodes(), "the same"),
      allow(sandbox::listenerCalls(), "hears and answers"),
      allow({"callers",
             {{SYS_process_vm_readv, {}}, {SYS_pidfd_open, {}}, {SYS_pidfd_getfd, {}}, {SYS_getsid, {}}}},
            "looks at who asks; Landlock keeps it to the command's own processes"),
      allow({"sockets", {{SYS_getsockopt, {sandbox::is32(1, SOL_SOCKET), sandbox::is32(2, SO_PROTOCOL)}}}},
            "whether a caller connects over TCP"),
      allow({"children", {{SYS_waitid, {}}, {SYS_wait4, {}}}}, "reaps what the command left"),
      allow(families::processes(), "another waits where a call waits"),
      allow({"peeking", {{SYS_pipe2, {}}, {SYS_tee, {}}}}, "whether a FIFO has a writer"),
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
