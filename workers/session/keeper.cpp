#include "workers/session/keeper.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/enter.h"
#include "sandbox/landlock.h"
#include "sandbox/tree.h"
#include "workers/session/cadence.h"
#include "workers/session/command_environment.h"
#include "workers/session/control.h"
#include "workers/session/gofer.h"
#include "workers/session/keeper_policy.h"
#include "workers/session/places.h"
#include "workers/session/protected_paths.h"
#include "workers/session/scratch.h"
#include "workers/session/watch.h"

namespace factionos::session {
namespace {

using sandbox::checked;
using sandbox::SetupError;
using sandbox::Step;

using Clock = std::chrono::steady_clock;

constexpr int kReapedAtOnce = 1000;
constexpr auto kKillRound = std::chrono::seconds(5);
constexpr std::uint32_t kGofers = 1;  // of ours, in the tree

// Kills everything but this process, by the best means that there is.
class Killer {
 public:
  // Without a pid namespace: enters a signal scope of its own, and proves it on the session, which stays
  // outside.
  static Killer make(const sandbox::NamespacePosture& namespaces, pid_t session) {
    Killer killer;
    if (namespaces.pid) {
      if (getpid() != 1) throw SetupError(Step::kTree, ESRCH, "not_init");
      killer.init_ = true;
      return killer;
    }
    sandbox::becomeSubreaper();
    // Below the layer that scopes nothing can be mounted: with a mount namespace alone it kills by walking.
    if (namespaces.mount || sandbox::landlockAbi() < sandbox::kAbiOfScopes) return killer;
    const std::optional<sandbox::OutsideWitness> witness = sandbox::OutsideWitness::take(session);
    if (!witness) throw SetupError(Step::kTree, ESRCH, "witness_missing");
    sandbox::LandlockPolicy scope;
    scope.files.scope =
        sandbox::FileScope::kUnrestricted;  // the command's own profile, entered inside, lists its files
    scope.scopes = {sandbox::Need::kOff, sandbox::Need::kRequired};
    sandbox::restrictByLandlock(scope);
    killer.scope_ = sandbox::ProvenScope::prove(*witness);
    if (!killer.scope_) throw SetupError(Step::kTree, EPERM, "scope_not_proven");
    return killer;
  }

  // Returns when nothing is left. A process that can't die (stuck in the kernel) is waited for.
  void killAll() const {
    if (init_) return killNamespace();
    while (true) {
      const sandbox::TreeEnd end =
          scope_ ? sandbox::killDomain(*scope_, kKillRound) : sandbox::killAdopted(kKillRound);
      if (end == sandbox::TreeEnd::kEmpty) return;
    }
  }

 private:
  Killer() = default;

  // The kernel reaches every process of the namespace at once, and none of those can make another any more.
  static void killNamespace() {
    kill(-1, SIGKILL);
    while (waitpid(-1, nullptr, __WALL) > 0 || errno == EINTR) {
    }
  }

  bool init_ = false;
  std::optional<sandbox::ProvenScope> scope_;
};

struct Ended {
  int status = 0;
  End reason = End::kExited;
  TreeUse peak;
};

// From the command's start to its end.
class Watch {
 public:
  Watch(pid_t leader, pid_t parent, int gofer, int control, int children, const TreeLimits& limits,
        const sandbox::NamespacePosture& namespaces)
      : leader_(leader),
        parent_(parent),
        gofer_(gofer),
        control_(control),
        children_(children),
        limits_(limits),
        namespaces_(namespaces) {}

  Ended run() {
    auto next = Clock::now() + cadence_.between();
    while (!done_) {
      pollfd ready[] = {{control_, POLLIN, 0}, {children_, POLLIN, 0}, {gofer_, POLLIN, 0}};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
      const int count = poll(ready, 3, static_cast<int>(std::max<std::int64_t>(left, 0)));
      if (count < 0 && errno != EINTR) break;
      if (count > 0 && ready[1].revents != 0) drainSignals();
      reap();  // also what the last round left over
      if (!done_ && count > 0 && ready[2].revents != 0) hearGofer();
      if (!done_ && count > 0 && ready[0].revents != 0) obey();
      // By the clock, not when nothing else happens: a tree that ends children all the time is to be looked
      // at, too.
      if (!done_ && Clock::now() >= next) {
        measure();
        next = Clock::now() + cadence_.between();
      }
    }
    return ended_;
  }

 private:
  void drainSignals() const {
    signalfd_siginfo info{};
    while (read(children_, &info, sizeof info) == sizeof info) {
    }
  }

  // What the gofer did not adopt: itself, and after it whatever it had.
  void reap() {
    // Bounded: a tree that ends children faster than this takes them must not keep the keeper here.
    for (int i = 0; !done_ && i < kReapedAtOnce; ++i) {
      const pid_t ended = waitpid(-1, nullptr, WNOHANG | __WALL);
      if (ended <= 0) return;
      // The leader is a child of the keeper's only once its parent has died.
      if (ended == parent_ || ended == leader_) loseGofer();
    }
  }

  // Not by its line alone: whoever holds a copy of that would keep it open.
  void loseGofer() {
    pollfd ready{gofer_, POLLIN, 0};
    if (poll(&ready, 1, 0) == 1) hearGofer();  // perhaps of the leader's end, just before
    if (!done_) finish(End::kLost);
  }

  // The leader has ended, or the gofer has, and calls wait that nobody will answer.
  void hearGofer() {
    GoferReport report;
    const ssize_t got = read(gofer_, &report, sizeof report);
    if (got < 0 && errno == EINTR) return;
    if (got != sizeof report || report.kind != GoferReport::Kind::kLeaderEnded) return finish(End::kLost);
    ended_.status = report.value;
    done_ = true;
  }

  void obey() {
    Order order;
    const ssize_t got = recv(control_, &order, sizeof order, MSG_WAITALL);
    if (got < 0 && errno == EINTR) return;
    if (got != sizeof order || order.kind != Order::Kind::kSignal) return finish(End::kKilled);
    // The gofer leaves the leader unreaped, and reap() ends this watch with it: the number is still its own.
    kill(-leader_, static_cast<int>(order.signal));
  }

  void measure() {
    TreeUse use = measureTree(Memory::kResident, limits_.processes + kGofers);
    const std::uint64_t files = scratchBytes();
    use.memoryBytes += files;
    if (use.memoryBytes > limits_.memoryBytes)
      use.memoryBytes = measureTree(Memory::kProportional, limits_.processes + kGofers).memoryBytes + files;
    use.cpuMs += reapedCpuMs();
    use.processes -= std::min(use.processes, kGofers);
    cadence_.saw(use);
    ended_.peak.processes = std::max(ended_.peak.processes, use.processes);
    ended_.peak.memoryBytes = std::max(ended_.peak.memoryBytes, use.memoryBytes);
    if (use.processes > limits_.processes) return finish(End::kProcesses);
    if (use.memoryBytes > limits_.memoryBytes) return finish(End::kMemory);
    if (use.cpuMs / 1000 >= limits_.cpuSeconds) return finish(End::kCpu);
  }

  // Private file systems in memory, and segments that perhaps nobody maps. What a process does map of them
  // counts twice: better a tree that ends early than memory that nobody sees.
  [[nodiscard]] std::uint64_t scratchBytes() const {
    std::uint64_t bytes = namespaces_.ipc ? segmentBytes() : 0;
    if (!namespaces_.mount) return bytes;
    for (const char* directory : {"/tmp", "/var/tmp", "/dev/shm"}) bytes += tmpfsBytes(directory);
    return bytes;
  }

  static std::uint64_t reapedCpuMs() {
    rusage use{};
    getrusage(RUSAGE_CHILDREN, &use);
    const auto ms = [](const timeval& time) {
      return static_cast<std::uint64_t>(time.tv_sec) * 1000 + static_cast<std::uint64_t>(time.tv_usec) / 1000;
    };
    return ms(use.ru_utime) + ms(use.ru_stime);
  }

  void finish(End reason) {
    ended_.reason = reason;
    // A leader that ended by itself in the same moment keeps its own status.
    GoferReport report;
    pollfd ready{gofer_, POLLIN, 0};
    const bool told = poll(&ready, 1, 0) == 1 && read(gofer_, &report, sizeof report) == sizeof report;
    ended_.status = told && report.kind == GoferReport::Kind::kLeaderEnded ? report.value : SIGKILL;
    done_ = true;
  }

  pid_t leader_;
  pid_t parent_;  // the gofer
  int gofer_;     // its reports
  int control_;
  int children_;
  const TreeLimits& limits_;
  const sandbox::NamespacePosture& namespaces_;
  Cadence cadence_;
  Ended ended_;
  bool done_ = false;
};

void closeAllButOwn(const KeeperPlan& plan) {
  std::vector<int> keep = {STDIN_FILENO,          STDOUT_FILENO,          STDERR_FILENO,
                           plan.control,          plan.command.workspace, plan.command.executable,
                           plan.command.terminal, plan.command.script,    plan.denials->event()};
  sandbox::closeAllBut(keep);
}

// Maps can be written by a dumpable process only; the session is none.
sandbox::NamespacePosture enterNamespaces(const KeeperPlan& plan) {
  if (!sandbox::anyWanted(plan.namespaces)) return {};
  checked(Step::kUserNamespace, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable_refused");
  sandbox::NamespacePosture namespaces = sandbox::enterNamespaces(plan.namespaces, plan.support);
  checked(Step::kUserNamespace, prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable_refused");
  return namespaces;
}

// With a pid namespace the one that goes on is its init; the session adopts it. Which says nothing before it
// has been said who it is: two that write at once would cut each other's reports apart.
void becomeInit(const KeeperPlan& plan, const sandbox::NamespacePosture& namespaces) {
  if (!namespaces.pid) return;
  sandbox::Pipe said = sandbox::makePipe();
  const pid_t init = checked(Step::kNamespaces, fork(), "fork_refused");
  if (init == 0) {
    said.write.reset();
    char nothing = 0;
    while (read(said.read.get(), &nothing, sizeof nothing) < 0 && errno == EINTR) {
    }
    return;
  }
  const std::uint64_t numbers[] = {static_cast<std::uint64_t>(init)};
  sendReport(plan.control, Report::Kind::kKeeper, numbers);
  _exit(0);
}

// Where the command's own files lie, and what is guarded of the workspace, depend on whether there is a mount
// namespace.
std::optional<Scratch> settle(KeeperPlan& plan, const sandbox::NamespacePosture& namespaces,
                              const ProtectedPaths& paths) {
  CommandScope& scope = plan.command.scope;
  std::optional<Scratch> scratch;
  scope.protectedLinks = paths.linked ? ProtectedLinks::kSome : ProtectedLinks::kNone;
  scope.protectedDetail = paths.coarse ? ProtectedDetail::kCoarse : ProtectedDetail::kFull;
  if (namespaces.mount) {
    scope.temporary = "/tmp";
    scope.home = "/tmp/.home";
    scope.protectedPaths = paths.present;
  } else {
    scratch = Scratch::make(plan.scratchParent);
    if (!scratch) throw SetupError(Step::kMounts, errno, "scratch_unusable");
    scope.temporary = scratch->temporary();
    scope.home = scratch->home();
    scope.userTasks = tasksOfUser();
  }
  plan.environment.emplace_back("HOME", scope.home);
  plan.environment.emplace_back("TMPDIR", scope.temporary);
  plan.command.environment = commandEnvironment(plan.environment);
  return scratch;
}

sandbox::Fd watchChildren() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  checked(Step::kIdentity, sigprocmask(SIG_BLOCK, &child, nullptr), "signals_refused");
  return sandbox::Fd(
      checked(Step::kIdentity, signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), "signals_refused"));
}

struct Started {
  pid_t leader = 0;
  pid_t parent = 0;   // the gofer
  sandbox::Fd gofer;  // its reports
  std::string text;   // what enterFiles() and becomeCommand() wrote until the command executed or failed
};

Started startCommand(KeeperPlan& plan, const sandbox::NamespacePosture& namespaces, ProtectedPaths paths) {
  sandbox::Pipe status = sandbox::makePipe();
  sandbox::Pipe line = sandbox::makePipe();
  GoferPlan gofer;
  gofer.command = &plan.command;
  gofer.namespaces = namespaces;
  gofer.paths = std::move(paths);
  gofer.denials = plan.denials;
  gofer.userHome = plan.userHome;
  gofer.state = stateAround(plan.scratchParent);
  gofer.status = status.write.get();
  gofer.line = line.write.get();
  // Not fork(): the loop's library would close, in the child, what has the numbers of its own descriptors by
  // now.
  Started started;
  started.parent = checked(Step::kIdentity, _Fork(), "fork_refused");
  if (started.parent == 0) runGofer(gofer);
  started.gofer = std::move(line.read);
  line.write.reset();
  status.write.reset();
  for (const int descriptor : {plan.command.terminal, plan.command.executable, plan.command.script}) {
    if (descriptor >= 0) close(descriptor);
  }
  char buffer[512];
  ssize_t got = 0;
  while ((got = read(status.read.get(), buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0 && started.text.size() < kReportTextBytes)
      started.text.append(buffer, static_cast<std::size_t>(got));
  }
  GoferReport leader;
  if (read(started.gofer.get(), &leader, sizeof leader) == sizeof leader) started.leader = leader.value;
  if (started.leader == 0 && started.text.find('!') == std::string::npos)
    started.text += "!" + std::to_string(static_cast<unsigned>(Step::kTree)) + " 0 gofer_lost\n";
  return started;
}

// The line that begins with '!', as Report::kFailed carries it.
void reportFailure(int control, const std::string& text) {
  const std::size_t mark = text.rfind('!');
  char* rest = nullptr;
  const unsigned long step = std::strtoul(text.c_str() + mark + 1, &rest, 10);
  const unsigned long error = std::strtoul(rest, &rest, 10);
  std::string reason(rest);
  reason.erase(std::remove_if(reason.begin(), reason.end(), [](char c) { return c == ' ' || c == '\n'; }),
               reason.end());
  const std::uint64_t numbers[] = {step, error};
  sendReport(control, Report::Kind::kFailed, numbers, reason);
}

void reportEnd(int control, const Ended& ended) {
  rusage use{};
  getrusage(RUSAGE_CHILDREN, &use);
  std::uint64_t numbers[5] = {};
  numbers[kWaitStatus] = static_cast<std::uint64_t>(ended.status);
  numbers[kReason] = static_cast<std::uint64_t>(ended.reason);
  numbers[kCpuMs] = static_cast<std::uint64_t>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 +
                    static_cast<std::uint64_t>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000;
  numbers[kMaxRssBytes] = static_cast<std::uint64_t>(use.ru_maxrss) * 1024;
  numbers[kPeakProcesses] = std::max<std::uint32_t>(ended.peak.processes, 1);
  sendReport(control, Report::Kind::kEnded, numbers);
}

// The session's whole life after its fork, in order: nothing inherited stays open; namespaces before the fork
// that makes an init; the killer before there is anything to kill, because the command must be born inside of
// its scope; the command; the keeper's own profile, which could do none of this any more.
void keep(KeeperPlan& plan) {
  prctl(PR_SET_NAME, "keeper", 0, 0, 0);  // for who lists processes
  closeAllButOwn(plan);
  const sandbox::NamespacePosture namespaces = enterNamespaces(plan);
  becomeInit(plan, namespaces);
  const Killer killer = Killer::make(namespaces, plan.session);
  ProtectedPaths paths = findProtected(plan.command.workspace);
  const std::optional<Scratch> scratch = settle(plan, namespaces, paths);
  const sandbox::Fd children = watchChildren();
  const Started started = startCommand(plan, namespaces, std::move(paths));
  if (started.text.find('!') != std::string::npos) {
    killer.killAll();
    if (scratch) scratch->remove();
    return reportFailure(plan.control, started.text);
  }
  std::vector<int> own = {STDIN_FILENO, STDOUT_FILENO,  STDERR_FILENO,
                          plan.control, children.get(), started.gofer.get()};
  if (scratch) own.push_back(scratch->parent());
  sandbox::enterInside(keeperPolicy(own), namespaces);
  sendReport(plan.control, Report::Kind::kStarted, {}, started.text);

  const Ended ended = Watch(started.leader, started.parent, started.gofer.get(), plan.control, children.get(),
                            plan.command.scope.limits, namespaces)
                          .run();
  killer.killAll();
  if (scratch) scratch->remove();
  reportEnd(plan.control, ended);
}

}  // namespace

[[noreturn]] void runKeeper(KeeperPlan& plan) noexcept {
  try {
    keep(plan);
  } catch (const SetupError& error) {
    const std::uint64_t numbers[] = {static_cast<std::uint64_t>(error.step()),
                                     static_cast<std::uint64_t>(error.error())};
    sendReport(plan.control, Report::Kind::kFailed, numbers, error.reason());
  } catch (const std::exception&) {
    sendReport(plan.control, Report::Kind::kFailed, {}, "internal_error");
  }
  // In a pid namespace this ends whatever is left.
  _exit(0);
}

}  // namespace factionos::session
