#include "workers/git/policy.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
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

constexpr std::uint64_t kSetId = S_ISUID | S_ISGID;
constexpr std::uint64_t kMakes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);

// Of a mode everything but the set-user-id and the set-group-id bit. openat2, whose mode no filter sees, is
// not among them.
sandbox::Family opening() {
  return {"opening",
          {
              {SYS_openat, {sandbox::masked(2, kMakes, 0)}},
              {SYS_openat, {sandbox::masked(3, kSetId, 0)}},
#ifdef SYS_open
              {SYS_open, {sandbox::masked(1, kMakes, 0)}},
              {SYS_open, {sandbox::masked(2, kSetId, 0)}},
#endif
          }};
}

// By path, which Landlock does not look at, none but the one that emptyTree() gives a directory of a worktree
// that goes: others get no right by it to any file of this user.
sandbox::Family modes() {
  return {"modes",
          {{SYS_mkdirat, {sandbox::masked(2, kSetId, 0)}},
#ifdef SYS_mkdir
           {SYS_mkdir, {sandbox::masked(1, kSetId, 0)}},
#endif
           {SYS_fchmod, {sandbox::masked(1, kSetId, 0)}},
           {SYS_fchmodat, {sandbox::is32(2, S_IRWXU)}}}};
}

// The family without the calls that take a mode or stand for them: opening() and modes() judge those.
sandbox::Family withoutModes(sandbox::Family family) {
  std::vector<int> judged = {SYS_openat2, sandbox::calls::kFchmodat2};
  for (const sandbox::Family& other : {opening(), modes()})
    for (const sandbox::Call& call : other.calls) judged.push_back(call.number);
  std::erase_if(family.calls, [&judged](const sandbox::Call& call) {
    return std::ranges::find(judged, call.number) != judged.end();
  });
  return family;
}

sandbox::Family accessLists() {
  return {"accessLists", {{SYS_fgetxattr, {}}}};
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
      allow(families::threads(), "one for the work, so that the line is always listened to, and its helpers"),
      allow(withoutModes(families::filesRead()), "the repository, within Landlock"),
      allow(opening(), "leaves no file that gives its user's rights to others"),
      allow(families::processInfo(), "libraries ask who they are"),
      allow(families::randomness(), "hash tables and names of temporary files"),
      allow(narrowing(), "from its workspace to its repository"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  if (access != Access::kRead) {
    policy.rules.push_back(
        allow(withoutModes(families::filesWrite()), "objects, refs, index and working tree"));
    policy.rules.push_back(allow(modes(), "the same of directories, and of files that are there"));
    policy.rules.push_back(allow(accessLists(), "whether a folder's mode tells what its group may"));
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
#ifndef FACTIONOS_SANITIZED
      {RLIMIT_DATA, std::uint64_t{2} << 30, "an object that claims to be larger than any machine's memory"},
#endif
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
