#include "workers/probe/policy.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/syscalls.h"
#include "sandbox/system_paths.h"
#include "workers/common/descriptors.h"
#include "workers/session/command_calls.h"

namespace factionos::probe {
namespace {

namespace access = sandbox::access;
using sandbox::Need;

constexpr rlim_t kSlackTasks = 1024;

sandbox::FileRules files(int program) {
  using sandbox::allowPathIfPresent;
  sandbox::FileRules files;
  for (const sandbox::SystemDirectory& directory : sandbox::systemDirectories())
    files.rules.push_back(
        allowPathIfPresent(std::string(directory.path), access::kReadExec, directory.reason));
  files.rules.push_back(allowPathIfPresent("/dev/null", access::kReadFile | access::kWriteFile, "sink"));
  files.rules.push_back(allowPathIfPresent("/dev/urandom", access::kReadFile, "randomness"));
  files.rules.push_back(sandbox::allowDescriptor(program, access::kReadFile | access::kExecute,
                                                 "the one program, wherever it lies"));
  return files;
}

// chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat utimensat fsetxattr
// fremovexattr, ioctl FS_IOC_SETFLAGS FS_IOC_SETVERSION FS_IOC_FSSETXATTR: on whatever has this user for its
// owner, open or not; Landlock looks at none of them. Those on extended attributes by path are refused to a
// command, too.
sandbox::Family attributes() {
  return {"attributes",
          {{SCMP_SYS(chmod), {}},
           {SCMP_SYS(fchmod), {}},
           {SCMP_SYS(fchmodat), {}},
           {sandbox::calls::kFchmodat2, {}},
           {SCMP_SYS(chown), {}},
           {SCMP_SYS(lchown), {}},
           {SCMP_SYS(fchown), {}},
           {SCMP_SYS(fchownat), {}},
           {SCMP_SYS(utime), {}},
           {SCMP_SYS(utimes), {}},
           {SCMP_SYS(futimesat), {}},
           {SCMP_SYS(utimensat), {}},
           {SCMP_SYS(fsetxattr), {}},
           {SCMP_SYS(fremovexattr), {}},
           {SCMP_SYS(ioctl), {sandbox::is32(1, FS_IOC_SETFLAGS)}},
           {SCMP_SYS(ioctl), {sandbox::is32(1, FS_IOC_SETVERSION)}},
           {SCMP_SYS(ioctl), {sandbox::is32(1, FS_IOC_FSSETXATTR)}}}};
}

// Whoever opens a file under a lease to write to it waits, 45 seconds if its holder likes.
sandbox::Family leases() {
  return {"leases", {{SCMP_SYS(fcntl), {sandbox::is32(1, F_SETLEASE)}}}};
}

// inotify_add_watch, which Landlock does not look at, and fcntl F_NOTIFY, the same on an open directory.
sandbox::Family watching() {
  return {"watching", {{SCMP_SYS(inotify_add_watch), {}}, {SCMP_SYS(fcntl), {sandbox::is32(1, F_NOTIFY)}}}};
}

// Numbers of processes are guessed easily, and below ABI 6 Landlock looks at none of these: neither at the
// calls that send a signal, nor at those that name who gets the signals of a descriptor, and F_SETSIG picks
// which.
sandbox::Family signalsToProcesses() {
  return {"signals to processes",
          {{SYS_kill, {}},
           {SYS_tkill, {}},
           {SYS_tgkill, {}},
           {SYS_rt_sigqueueinfo, {}},
           {SYS_rt_tgsigqueueinfo, {}},
           {SYS_pidfd_send_signal, {}},
           {SYS_fcntl, {sandbox::is32(1, F_SETOWN)}},
           {SYS_fcntl, {sandbox::is32(1, F_SETOWN_EX)}},
           {SYS_ioctl, {sandbox::is32(1, FIOSETOWN)}},
           {SYS_ioctl, {sandbox::is32(1, SIOCSPGRP)}}}};
}

}  // namespace

// A program that is started needs what a command needs, so that calls are denied by a list, the commands' own
// where there is no namespace and no network. Beyond the program the worker has its line alone: it may as
// well be what the program is. Files: nothing of this user is read, nothing at all is written.
sandbox::Policy policy(int program, std::uint32_t userTasks) {
  sandbox::Policy policy;
  policy.name = "probe";
  policy.keep = worker::ownDescriptors({program});
  policy.limits = {
      {RLIMIT_NOFILE, 256, "its line, its loop, one pipe"},
      {RLIMIT_FSIZE, 0, "writes no file"},
      {RLIMIT_CPU, 60, "of each process; it is asked for 10 seconds at most"},
      {RLIMIT_NPROC, rlim_t{userTasks} + kSlackTasks, "a backstop: everything that this user runs counts"},
#ifndef FACTIONOS_SANITIZED
      {RLIMIT_DATA, rlim_t{512} << 20, "of each process"},
#endif
  };
  policy.files = files(program);
  policy.files.rules.push_back(
      sandbox::allowPath("/proc", access::kRead, "finds children to kill below Landlock ABI 6"));
  policy.tcp = {Need::kIfAvailable, {}, {}};
  policy.scopes = {Need::kIfAvailable, Need::kIfAvailable};
  policy.seccomp = session::commandCalls(session::Network::kNone, {}, 0);
  policy.seccomp.rules.push_back(
      sandbox::refuse(attributes(), EPERM, "modes, owners and times of any file of this user"));
  policy.seccomp.rules.push_back(
      sandbox::refuse(watching(), EPERM, "tells what others do in any directory that they may list"));
  policy.seccomp.rules.push_back(
      sandbox::refuse(leases(), EPERM, "would keep whoever updates the program waiting"));
  policy.traps = sandbox::Traps::kNone;
  return policy;
}

// Without /proc, and in a scope of its own, out of which it reaches the worker no more than anybody else.
sandbox::Policy programPolicy(int program, std::uint32_t userTasks) {
  sandbox::Policy narrowed = policy(program, userTasks);
  narrowed.name = "probe-program";
  narrowed.keep = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, program};
  narrowed.files = files(program);
  narrowed.seccomp = {};
  narrowed.seccomp.unlisted = sandbox::Verdict::allow();
  narrowed.seccomp.foreignEntry = sandbox::Verdict::fail(ENOSYS);
  narrowed.seccomp.rules = {
      sandbox::refuse(signalsToProcesses(), EPERM, "to nobody: no filter knows which number is its own")};
  return narrowed;
}

}  // namespace factionos::probe
