#include "workers/file/policy.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sandbox/families.h"
#include "workers/common/descriptors.h"

namespace factionos::file {
namespace {

namespace access = sandbox::access;
namespace families = sandbox::families;

// A tree of plain files: no device, no socket, no FIFO, no symbolic link is ever made, and nothing executed.
constexpr sandbox::Access kFiles =
    access::kRead | access::kWrite | access::kRemove | access::kMakeDir | access::kMakeReg | access::kRefer;

// What files are looked at, made and moved with. Of a mode everything but the set-user-id and the
// set-group-id bit; openat2, whose mode no filter sees, is not among them.
sandbox::Family files() {
  constexpr std::uint64_t kSetId = S_ISUID | S_ISGID;
  constexpr std::uint64_t kMakes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
  return {"files",
          {{SYS_openat, {sandbox::masked(2, kMakes, 0)}},
           {SYS_openat, {sandbox::masked(3, kSetId, 0)}},
           {SYS_mkdirat, {sandbox::masked(2, kSetId, 0)}},
           {SYS_fchmod, {sandbox::masked(1, kSetId, 0)}},
           {SYS_unlinkat, {}},
           {SYS_renameat, {}},
           {SYS_renameat2, {}},
           {SYS_linkat, {}},
           {SYS_fsync, {}},
           {SYS_pread64, {}},
           {SYS_getdents64, {}},
           {SYS_readlinkat, {}},
           {SYS_faccessat, {}},
           {SYS_faccessat2, {}}}};
}

// Of open files alone: what a replaced file had goes over to the one that takes its place.
sandbox::Family attributes() {
  return {"attributes", {{SYS_flistxattr, {}}, {SYS_fgetxattr, {}}, {SYS_fsetxattr, {}}}};
}

}  // namespace

// No process can be started, no socket made; all other calls end the worker. Landlock only adds, so that some
// paths of the workspace are not to be written (protected.h) is the worker's own rule.
sandbox::Policy policy(int workspace) {
  using sandbox::allow;
  using sandbox::refuse;
  sandbox::Policy policy;
  policy.name = "file";
  policy.keep = worker::ownDescriptors({worker::kScope});
  policy.limits = {
      {RLIMIT_NOFILE, 256,
       "its line, its loop, the workspace, and a directory for each component of the deepest path"},
      {RLIMIT_FSIZE, std::uint64_t{128} << 20, "twice the largest file that is changed"},
      {RLIMIT_NPROC, 0, "starts nothing"},
#ifndef FACTIONOS_SANITIZED
      {RLIMIT_DATA, std::uint64_t{1} << 30, "a few times the largest file that is changed"},
#endif
  };
  policy.files.rules = {sandbox::allowDescriptor(workspace, kFiles, "the one workspace")};
  policy.scopes = {sandbox::Need::kIfAvailable, sandbox::Need::kIfAvailable};
  policy.seccomp.rules = {
      refuse(families::ioUring(), ENOSYS, "libuv asks for it and does without"),
      allow(families::base(), "memory, time, ending"),
      allow(families::readWrite(), "its line, files"),
      allow(families::epollLoop(), "its loop"),
      allow(families::socketIo(), "its line"),
      allow(families::signals(), "its loop"),
      allow(files(), "the workspace"),
      allow(attributes(), "of open files"),
      allow(families::processInfo(), "libraries ask who they are"),
      allow(families::randomness(), "hash tables of libraries"),
#ifdef FACTIONOS_SANITIZED
      allow(families::sanitizerRuntime(), "sanitizer builds only"),
#endif
  };
  return policy;
}

}  // namespace factionos::file
