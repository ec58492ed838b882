#include "workers/git/policy.h"

#include <cerrno>

#include <sys/syscall.h>

#include "sandbox/families.h"
#include "sandbox/syscalls.h"
#include "workers/common/descriptors.h"

namespace factionos::git {

namespace access = sandbox::access;
namespace families = sandbox::families;

namespace {

sandbox::Access rightsOf(Access access) {
  return access == Access::kRead ? access::kRead : access::kReadWrite - access::kMakeFifo;
}

// To give up what it was started with once its repository is known. Every further layer only narrows.
sandbox::Family narrowing() {
  using namespace sandbox::calls;
  return {"narrowing", {{kLandlockCreateRuleset, {}}, {kLandlockAddRule, {}}, {kLandlockRestrictSelf, {}}}};
}

sandbox::Family wholeFileSystem() {
  return {"wholeFileSystem", {{SYS_syncfs, {}}}};
}

sandbox::SeccompPolicy calls(Access access) {
  using sandbox::allow;
  sandbox::SeccompPolicy policy;
  policy.rules = {
      kill(families::trapHandlerChange(), "who replaces the handler could hide a trapped call"),
      refuse(families::clone3(), ENOSYS, "libc falls back to clone, whose flags can be judged"),
      refuse(families::ioUring(), ENOSYS, "libuv asks for it and does without"),
      allow(families::base(), "memory, time, ending; packs are mapped, never executable"),
      allow(families::readWrite(), "its line and the repository's files"),
      allow(families::epollLoop(), "its loop"),
      allow(families::socketIo(), "its line; there is no other socket, and none can be made"),
      allow(families::signals(), "its loop"),
      allow(families::threads(), "one thread for the work, so that the line is always listened to"),
      allow(families::filesRead(), "the repository, within Landlock"),
      allow(families::processInfo(), "libraries ask who they are"),
      allow(families::randomness(), "hash tables and names of temporary files"),
      allow(narrowing(), "from its workspace to its repository"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  if (access != Access::kRead) {
    policy.rules.push_back(allow(families::filesWrite(), "objects, refs, index and working tree"));
    policy.rules.push_back(allow(wholeFileSystem(), "one wait for the disk for many objects"));
  }
  return policy;
}

}  // namespace

// No program can be started and no socket made: repository configuration that names one has nobody to tell
// it to.
sandbox::Policy policy(Access access, const std::vector<int>& directories) {
  sandbox::Policy policy;
  policy.name = access == Access::kRead ? "git-read" : "git-write";
  policy.keep = worker::ownDescriptors();
  policy.keep.insert(policy.keep.end(), directories.begin(), directories.end());
  policy.limits = {
      {RLIMIT_NOFILE, 512, "packs, their indexes, and one file at a time"},
      {RLIMIT_DATA, std::uint64_t{2} << 30, "an object that claims to be larger than any machine's memory"},
  };
  if (access == Access::kRead) policy.limits.push_back({RLIMIT_FSIZE, 0, "writes no file"});
  for (const int directory : directories)
    policy.files.rules.push_back(sandbox::allowDescriptor(
        directory, rightsOf(access), "the workspace, and where its git directory may lie"));
  policy.scopes = {sandbox::Need::kIfAvailable, sandbox::Need::kIfAvailable};
  policy.seccomp = calls(access);
  return policy;
}

sandbox::LandlockPolicy repositoryFiles(Access access, const std::vector<int>& own,
                                        const std::vector<int>& read) {
  sandbox::LandlockPolicy policy;
  for (const int directory : own)
    policy.files.rules.push_back(
        sandbox::allowDescriptor(directory, rightsOf(access), "working tree, git and common directory"));
  for (const int directory : read)
    policy.files.rules.push_back(
        sandbox::allowDescriptor(directory, access::kRead, "objects kept elsewhere"));
  policy.scopes = {sandbox::Need::kIfAvailable, sandbox::Need::kIfAvailable};
  return policy;
}

}  // namespace factionos::git
