#include "workers/container/policy.h"

#include <cerrno>

#include "sandbox/families.h"
#include "workers/common/descriptors.h"

namespace factionos::container {

namespace families = sandbox::families;

// No file, no program, no socket of its own making. What it can do beyond that is what the engine does for
// it: over its one kind of socket it reaches a program that may be root, and no filter here sees what it asks
// there.
sandbox::Policy policy() {
  using sandbox::allow;
  sandbox::Policy policy;
  policy.name = "container";
  policy.keep = worker::ownDescriptors();
  policy.limits = {
      {RLIMIT_NOFILE, 512, "its line, its loop, and two connections for each of 64 runs"},
      {RLIMIT_FSIZE, 0, "writes no file"},
      {RLIMIT_NPROC, 0, "starts nothing"},
#ifndef FACTIONOS_SANITIZED
      {RLIMIT_DATA, rlim_t{512} << 20, "answers and output have bounds; this one catches what they miss"},
#endif
  };
  policy.tcp = {sandbox::Need::kIfAvailable, {}, {}};
  policy.scopes = {sandbox::Need::kIfAvailable, sandbox::Need::kIfAvailable};
  policy.seccomp.rules = {
      kill(families::trapHandlerChange(), "who replaces the handler could hide a trapped call"),
      allow(families::base(), "memory, time, ending"),
      allow(families::readWrite(), "its connections"),
      allow(families::epollLoop(), "its loop"),
      allow(families::socketIo(),
            "its line, and connections that come over it: none can be made or connected"),
      allow(families::signals(), "its loop"),
      allow(families::processInfo(), "libraries ask who they are"),
      allow(families::randomness(), "hash tables of libraries"),
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

}  // namespace factionos::container
