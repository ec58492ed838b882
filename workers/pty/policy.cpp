#include "workers/pty/policy.h"

#include <cerrno>

#include "sandbox/families.h"
#include "workers/common/descriptors.h"

namespace factionos::pty {

namespace families = sandbox::families;

// No file can be opened, no process started, no socket made; all other calls end the worker.
sandbox::Policy policy() {
  using sandbox::allow;
  sandbox::Policy policy;
  policy.name = "pty";
  policy.keep = worker::ownDescriptors();
  policy.limits = {
      {RLIMIT_NOFILE, 64, "its line, its loop, one master, and messages that carry one"},
      {RLIMIT_FSIZE, 0, "writes no file"},
      {RLIMIT_NPROC, 0, "starts nothing"},
  };
  policy.scopes = {sandbox::Need::kIfAvailable, sandbox::Need::kIfAvailable};
  policy.seccomp.rules = {
      allow(families::base(), "memory, time, ending"),
      allow(families::readWrite(), "the master"),
      allow(families::epollLoop(), "its loop"),
      allow(families::socketIo(), "its line; what arrives there as a descriptor is the master"),
      allow(families::signals(), "its loop"),
      allow(families::terminalIoctls(), "modes and window of the master"),
      allow(families::processInfo(), "libraries ask who they are"),
      allow(families::randomness(), "hash tables of libraries"),
      refuse(families::ioUring(), ENOSYS, "libuv asks for it and does without"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  return policy;
}

}  // namespace factionos::pty
