// Other processes of the same user: their life, their memory, their descriptors, their limits.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/verify/act.h"
#include "sandbox/verify/attempts.h"
#include "sandbox/verify/desk.h"
#include "sandbox/verify/world.h"

namespace factionos::sandbox::verify {
namespace {

constexpr rlim_t kLowered = 7;
constexpr char kOverwritten[kSecretBytes + 1] = "overwritten by another process..";
constexpr int kNicer = 5;

bool gotMemory(const World& world, const Evidence& evidence) {
  return world.inMemory == std::string_view(evidence.bytes.data(), evidence.size);
}

bool gotSecret(const World& world, const Evidence& evidence) {
  return world.secret == std::string_view(evidence.bytes.data(), evidence.size);
}

bool outsiderDied(const World& world, const Evidence&) {
  return !world.outsider.alive();
}

// A killed process dies as soon as it runs again.
bool outsiderKilled(const World& world, const Evidence& evidence) {
  for (int round = 0; evidence.returned && evidence.error == 0 && round < 200 && world.outsider.alive();
       ++round)
    usleep(500);
  return outsiderDied(world, evidence);
}

bool siblingKilled(const World& world, const Evidence& evidence) {
  for (int round = 0; evidence.returned && evidence.error == 0 && round < 200 && world.sibling.alive();
       ++round)
    usleep(500);
  return !world.sibling.alive();
}

long readMemory(pid_t pid, Evidence& evidence) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/mem", pid);
  const Fd memory(open(path, O_RDONLY | O_CLOEXEC));
  if (!memory) return -1;
  const long got = pread(memory.get(), evidence.bytes.data(), kSecretBytes,
                         static_cast<off_t>(reinterpret_cast<std::uintptr_t>(secretAddress())));
  if (got > 0) evidence.size = static_cast<std::size_t>(got);
  return got;
}

long readByCall(pid_t pid, Evidence& evidence) {
  iovec here{evidence.bytes.data(), kSecretBytes};
  iovec there{secretAddress(), kSecretBytes};
  const long got = syscall(SYS_process_vm_readv, pid, &here, 1UL, &there, 1UL, 0UL);
  if (got > 0) evidence.size = static_cast<std::size_t>(got);
  return got;
}

long readEnvironment(const World& world, Evidence& evidence) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/environ", world.pids->program.load());
  const Fd file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return -1;
  const long got = read(file.get(), evidence.bytes.data(), evidence.bytes.size());
  if (got > 0) evidence.size = static_cast<std::size_t>(got);
  return got;
}

bool gotEnvironment(const World& world, const Evidence& evidence) {
  return std::string_view(evidence.bytes.data(), evidence.size).starts_with(world.inEnvironment);
}

long stealDescriptor(const World& world, Evidence& evidence) {
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, world.pids->outsider.load(), 0U)));
  if (!process) return -1;
  const Fd stolen(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), kVictimDescriptor, 0U)));
  if (!stolen) return -1;
  const long got = pread(stolen.get(), evidence.bytes.data(), kSecretBytes, 0);
  if (got > 0) evidence.size = static_cast<std::size_t>(got);
  return got;
}

long queueSignal(pid_t pid) {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  return syscall(SYS_rt_sigqueueinfo, pid, SIGKILL, &info);
}

// A descriptor's owner gets a signal of the caller's choice whenever there is something to read.
long signalByOwner(pid_t pid) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  const Fd readEnd(ends[0]);
  const Fd writeEnd(ends[1]);
  if (fcntl(readEnd.get(), F_SETOWN, pid) != 0 || fcntl(readEnd.get(), F_SETSIG, SIGKILL) != 0 ||
      fcntl(readEnd.get(), F_SETFL, O_ASYNC) != 0)
    return -1;
  return write(writeEnd.get(), "x", 1);
}

std::string tracerOf(pid_t pid) {
  const std::string status = contentOf("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = status.find("TracerPid:\t");
  return at == std::string::npos ? "0" : status.substr(at + 11, status.find('\n', at) - at - 11);
}

long forkOne(Desk& desk) {
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) {
    ++desk.heartbeats;
    _exit(0);
  }
  if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
  return child;
}

// Neither of the leader's group nor of its session, and no child of it any more.
long leaveBehind(Desk& desk) {
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child != 0) {
    if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
    return child;
  }
  setsid();
  if (syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) != 0) _exit(0);
  desk.beatUntilStopped();
  _exit(0);
}

long endOwnChild(Evidence& evidence) {
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) {
    while (true) pause();
  }
  if (child < 0 || kill(static_cast<pid_t>(child), SIGKILL) != 0) return -1;
  int status = 0;
  waitpid(static_cast<pid_t>(child), &status, 0);
  evidence.value = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return 0;
}

long execute(std::string program) {
  char* const arguments[] = {program.data(), nullptr};
  char* const environment[] = {nullptr};
  return run(program.c_str(), arguments, environment);
}

// In the place of the actor: for profiles that can't fork. Comes back only if it is refused.
long becomeProgram(const World& world) {
  std::string name = world.workspace + "/script";
  char* const arguments[] = {name.data(), nullptr};
  char* const environment[] = {nullptr};
  return execve(name.c_str(), arguments, environment);
}

bool scriptRan(const World& world, const Evidence&) {
  return exists(world.workspace + "/marker");
}

constexpr Act kActs[] = {
    {"kill-outsider", "end another process of this user",
     [](const World& world, Evidence&) -> long { return kill(world.pids->outsider.load(), SIGKILL); },
     outsiderKilled},
    {"kill-outsider-thread", "end it by a signal to its thread",
     [](const World& world, Evidence&) {
       return syscall(SYS_tgkill, world.pids->outsider.load(), world.pids->outsider.load(), SIGKILL);
     },
     outsiderKilled},
    {"kill-outsider-queued", "end it by a queued signal",
     [](const World& world, Evidence&) { return queueSignal(world.pids->outsider.load()); }, outsiderKilled},
    {"kill-outsider-by-owner", "end it as the owner of a descriptor that signals",
     [](const World& world, Evidence&) { return signalByOwner(world.pids->outsider.load()); },
     outsiderKilled},
    {"kill-sibling", "end a process of another sandbox",
     [](const World& world, Evidence&) -> long { return kill(world.pids->sibling.load(), SIGKILL); },
     siblingKilled},
    {"trace-outsider", "trace another process",
     [](const World& world, Evidence&) -> long {
       return ptrace(PTRACE_SEIZE, world.pids->outsider.load(), nullptr, nullptr);
     },
     [](const World& world, const Evidence&) { return tracerOf(world.pids->outsider.load()) != "0"; }},
    {"read-memory", "read another process's memory over /proc/PID/mem",
     [](const World& world, Evidence& evidence) { return readMemory(world.pids->outsider.load(), evidence); },
     gotMemory},
    {"read-sibling-memory", "read the memory of a process of another sandbox",
     [](const World& world, Evidence& evidence) { return readMemory(world.pids->sibling.load(), evidence); },
     gotMemory},
    {"read-memory-by-call", "read another process's memory by process_vm_readv",
     [](const World& world, Evidence& evidence) { return readByCall(world.pids->outsider.load(), evidence); },
     gotMemory},
    {"write-memory-by-call", "write another process's memory by process_vm_writev",
     [](const World& world, Evidence&) {
       char text[kSecretBytes];
       std::memcpy(text, kOverwritten, sizeof text);
       iovec here{text, sizeof text};
       iovec there{secretAddress(), sizeof text};
       return syscall(SYS_process_vm_writev, world.pids->outsider.load(), &here, 1UL, &there, 1UL, 0UL);
     },
     [](const World& world, const Evidence&) {
       return memoryOf(world.pids->outsider.load()) == kOverwritten;
     }},
    {"read-environment", "read another process's environment", readEnvironment, gotEnvironment},
    {"steal-descriptor", "copy a descriptor out of another process", stealDescriptor, gotSecret},
    {"limit-other", "lower another process's limits",
     [](const World& world, Evidence&) -> long {
       const rlimit lowered{kLowered, kLowered};
       return prlimit(world.pids->outsider.load(), RLIMIT_NOFILE, &lowered, nullptr);
     },
     [](const World& world, const Evidence&) {
       rlimit limit{};
       return prlimit(world.pids->outsider.load(), RLIMIT_NOFILE, nullptr, &limit) == 0 &&
              limit.rlim_max == kLowered;
     }},
    {"slow-other", "take processor time from another process",
     [](const World& world, Evidence&) -> long {
       return setpriority(PRIO_PROCESS, static_cast<id_t>(world.pids->outsider.load()), kNicer);
     },
     [](const World& world, const Evidence&) {
       return getpriority(PRIO_PROCESS, static_cast<id_t>(world.pids->outsider.load())) == kNicer;
     }},
    {"fork", "start a process", [](const World& world, Evidence&) { return forkOne(*world.desk); },
     [](const World& world, const Evidence&) { return world.desk->heartbeats > 0; }},
    {"execute", "become another program", [](const World& world, Evidence&) { return becomeProgram(world); },
     scriptRan},
    {"run-outside", "start a program that lies outside",
     [](const World& world, Evidence&) { return execute(world.outside + "/script"); }, scriptRan},
    {"leave-behind", "leave a process behind: setsid, forked twice",
     [](const World& world, Evidence&) { return leaveBehind(*world.desk); },
     [](const World& world, const Evidence&) { return world.desk->stillBeats(); }, Control::kOpen,
     Look::kAfterEnd},
    // What must work.
    {"run-own", "start a program of the workspace",
     [](const World& world, Evidence&) { return execute(world.workspace + "/script"); }, scriptRan},
    {"end-own-child", "start a process and end it",
     [](const World&, Evidence& evidence) { return endOwnChild(evidence); },
     [](const World&, const Evidence& evidence) { return evidence.value == SIGKILL; }},
};

}  // namespace

std::span<const Act> processActs() {
  return kActs;
}

}  // namespace factionos::sandbox::verify
