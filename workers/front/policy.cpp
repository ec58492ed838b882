#include "workers/front/policy.h"

#include <cerrno>

#include <sys/syscall.h>

#include "sandbox/families.h"
#include "workers/common/descriptors.h"

namespace factionos::front {

namespace families = sandbox::families;

// The listeners were bound by the broker: no bind, no listen.
static sandbox::Family accepting() {
  return {"accepting", {{SYS_accept4}}};
}

sandbox::Policy frontPolicy() {
  using sandbox::allow;
  sandbox::Policy policy;
  policy.name = "front";
  policy.keep = worker::ownDescriptors();
  policy.limits = {
      {RLIMIT_NOFILE, 4096,
       "its line, its loop, listeners and connections, whose number has a bound of its own"},
      {RLIMIT_FSIZE, 0, "writes no file"},
      {RLIMIT_NPROC, 0, "starts nothing"},
#ifndef FACTIONOS_SANITIZED
      {RLIMIT_DATA, rlim_t{512} << 20, "bodies and connections have bounds; this one catches what they miss"},
#endif
  };
  policy.tcp = {sandbox::Need::kIfAvailable, {}, {}};
  policy.scopes = {sandbox::Need::kIfAvailable, sandbox::Need::kIfAvailable};
  policy.seccomp.rules = {
      allow(families::base(), "memory, time, ending"),
      allow(families::readWrite(), "its loop, and copies of a connection to ask the broker about"),
      allow(families::epollLoop(), "its loop"),
      allow(families::socketIo(), "its line and its connections; none can be made or connected"),
      allow(accepting(), "its listeners"),
      allow(families::signals(), "its loop ignores SIGPIPE"),
      refuse(families::ioUring(), ENOSYS, "libuv asks for it and does without"),
      kill(families::tracing(), "an escape: no handler runs after one"),
      kill(families::mounting(), "an escape"),
      kill(families::namespaceCalls(), "an escape"),
      kill(families::kernelSurface(), "an escape"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  return policy;
}

}  // namespace factionos::front
