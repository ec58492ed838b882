#include "workers/probe/policy.h"

#include <cerrno>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

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

// Numbers of processes are guessed easily, and below ABI 6 Landlock looks at none of these.
sandbox::Family signalsToProcesses() {
  return {"signals to processes",
          {{SYS_kill, {}},
           {SYS_tkill, {}},
           {SYS_tgkill, {}},
           {SYS_rt_sigqueueinfo, {}},
           {SYS_rt_tgsigqueueinfo, {}},
           {SYS_pidfd_send_signal, {}}}};
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
