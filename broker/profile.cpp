#include "broker/profile.h"

#include <cerrno>
#include <utility>

#include "broker/adopted.h"
#include "sandbox/families.h"

namespace factionos::broker {

namespace {

sandbox::SeccompPolicy calls() {
  using namespace sandbox;
  namespace f = sandbox::families;
  return {.unlisted = Verdict::killProcess(),
          .foreignEntry = Verdict::killProcess(),
          .rules = {
              refuse(f::clone3(), ENOSYS, "libc falls back to clone, whose flags can be judged"),
              refuse(f::ioUring(), ENOSYS, "a second way to every call"),
              kill(f::tracing(), "no other process's memory"),
              kill(f::mounting(), "the file tree stays as it is"),
              kill(f::namespaceCalls(), "no new powers"),
              kill(f::kernelSurface(), "nothing of that is a broker's"),
              kill(f::executing(), "the launcher starts programs, the broker never"),
              allow(f::base(), "memory, time, ending"),
              allow(f::readWrite(), "descriptors that are open"),
              allow(f::epollLoop(), "the event loop"),
              allow(f::socketIo(), "lines to the launcher, the workers and the operator"),
              allow(f::listening(), "the operator socket; the front's listeners are only kept"),
              allow(f::sockets({1 /* AF_UNIX */}), "socketpairs for new workers"),
              allow(f::signals(), "SIGTERM and SIGHUP by descriptor"),
              allow(f::threads(), "the pool that commits and verifies"),
              allow(f::filesRead(), "the home"),
              allow(f::filesWrite(), "state, audit, policy"),
              allow(f::sqliteFiles(), "the state database"),
              allow(f::randomness(), "ids, nonces, keys"),
              allow(f::lockedMemory(), "keys that never reach swap"),
              allow(f::processInfo(), "log lines and limits"),
              allow(adoptedChildren(), "after the launcher's death: end and reap what it left"),
#ifdef FACTIONOS_SANITIZED
              allow(f::sanitizerRuntime(), "sanitizer builds alone"),
#endif
          }};
}

}  // namespace

sandbox::Policy profile(int home, int children, std::vector<int> keep) {
  using namespace sandbox;
  Policy policy;
  policy.name = "broker";
  policy.keep = std::move(keep);
  policy.limits = {{RLIMIT_NOFILE, 4096, "256 sessions with three descriptors each, and room"}};
  policy.files.rules = {
      allowDescriptor(home, access::kReadWrite, "state, audit, policy, sockets, scratch"),
      allowDescriptor(children, access::kRead, "the list of its own children, after the launcher's death"),
  };
  policy.tcp = {.need = Need::kIfAvailable, .bind = {}, .connect = {}};
  // A subreaper ends what the launcher leaves behind, and the launcher is not inside of this sandbox: signals
  // are not scoped.
  policy.scopes = {.abstractSockets = Need::kIfAvailable, .signals = Need::kOff};
  policy.seccomp = calls();
  // A trap's report goes to whoever started the process; nobody watches over the broker, so a call that is
  // not listed kills it at once.
  policy.traps = Traps::kNone;
  return policy;
}

}  // namespace factionos::broker
