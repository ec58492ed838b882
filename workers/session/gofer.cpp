#include "workers/session/gofer.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/enter.h"
#include "sandbox/landlock.h"
#include "sandbox/notify.h"
#include "sandbox/seccomp_eval.h"
#include "sandbox/tree.h"
#include "workers/session/command_calls.h"
#include "workers/session/file_calls.h"
#include "workers/session/gofer_policy.h"
#include "workers/session/guarded_names.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

using sandbox::checked;
using sandbox::SetupError;
using sandbox::Step;

// ---- Children: what a signal handler can reach

volatile pid_t leader = 0;
volatile int reportLine = -1;
volatile sig_atomic_t working =
    0;  // on a call: the end of the leader ends everything, and is told afterwards
volatile sig_atomic_t owed = 0;

void report(GoferReport::Kind kind, int value) {
  const GoferReport record{kind, value};
  const ssize_t ignored = write(reportLine, &record, sizeof record);
  static_cast<void>(ignored);
}

int waitStatusOf(const siginfo_t& info) {
  constexpr int kCore = 0x80;
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xff) << 8;
  return info.si_status | (info.si_code == CLD_DUMPED ? kCore : 0);
}

// Runs whenever a child has ended, also while the gofer waits for a call. The leader stays as it is: after it
// the keeper ends everything.
void reapChildren(int) {
  if (working != 0) {
    owed = 1;
    return;
  }
  const int error = errno;
  while (true) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || info.si_pid == 0) break;
    if (info.si_pid == leader) {
      report(GoferReport::Kind::kLeaderEnded, waitStatusOf(info));
      leader = 0;
      break;
    }
    if (leader == 0) break;
    waitpid(info.si_pid, nullptr, __WALL);
  }
  errno = error;
}

void watchChildren() {
  struct sigaction action {};
  action.sa_handler = reapChildren;
  action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  checked(Step::kIdentity, sigaction(SIGCHLD, &action, nullptr), "signals_refused");
}

// Its own limits are the command's. A call that runs into that of a file's size is to fail for its caller,
// not to end who carries it out; that caller began with the usual answer to the signal, so: after its fork.
void outliveFileSizes() {
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  checked(Step::kIdentity, sigaction(SIGXFSZ, &ignored, nullptr), "signals_refused");
}

void handleChildren(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  checked(Step::kIdentity, sigprocmask(how, &set, nullptr), "signals_refused");
}

// ---- Calls

// A file system of processes that counts them as others do would name the wrong ones.
bool seesProcesses() {
  std::array<char, 16> text{};
  const ssize_t size = readlink("/proc/self", text.data(), text.size());
  pid_t number = 0;
  if (size > 0) std::from_chars(text.data(), text.data() + size, number);
  return number == getpid();
}

std::uint16_t bounded(std::uint64_t number) {
  return static_cast<std::uint16_t>(number);
}

Denial denialOf(const sandbox::Notification& call) {
  if (call.number == SYS_socket || call.number == SYS_socketpair)
    return {DeniedOperation::kConnect, DenialSource::kSeccomp, DeniedPlace::kNetwork,
            bounded(call.arguments[0])};
  return {DeniedOperation::kCall, DenialSource::kSeccomp, DeniedPlace::kNone,
          bounded(static_cast<std::uint64_t>(call.number))};
}

// What is only looked at goes on at once, and is thought about meanwhile. Nothing of it is refused by numbers
// alone: it makes no file.
bool isObserved(const sandbox::Notification& call) {
  constexpr std::uint64_t kUnnamed{O_TMPFILE & ~O_DIRECTORY};
  constexpr std::uint64_t kChanges{O_ACCMODE | O_CREAT | O_TRUNC | kUnnamed};
  switch (call.number) {
    case SYS_execve:
    case SYS_execveat:
      return true;
    case SYS_openat:
      return (call.arguments[2] & kChanges) == O_RDONLY;
#ifdef SYS_open
    case SYS_open:
      return (call.arguments[1] & kChanges) == O_RDONLY;
#endif
    default:
      return false;
  }
}

// What only the caller can tell is asked while it waits: one that is denied may end at once.
void observe(const sandbox::NotifyListener& listener, const sandbox::Notification& call, Observer& observer) {
  const bool byDescriptor = call.number == SYS_openat || call.number == SYS_execveat;
  const bool executes = call.number == SYS_execve || call.number == SYS_execveat;
  const Caller waiting(listener, call);
  std::string path;
  sandbox::Fd start;
  int error = waiting.path(byDescriptor ? 1 : 0, path);
  if (error == 0 && !path.empty() && path.front() != '/')
    error = waiting.start(byDescriptor ? waiting.number(0) : AT_FDCWD, start);
  listener.letGoOn(call.id);
  if (error == 0)
    observer.look(executes ? DeniedOperation::kExecute : DeniedOperation::kRead,
                  Caller(listener, call, Waits::kNo), std::move(start), path);
}

// Landlock restricts no other protocol.
bool isTcp(const Caller& caller, int descriptor) {
  sandbox::Fd socket;
  int protocol = 0;
  socklen_t size = sizeof protocol;
  return caller.socket(descriptor, socket) == 0 &&
         getsockopt(socket.get(), SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
}

void observeConnecting(const sandbox::NotifyListener& listener, const sandbox::Notification& call,
                       Observer& observer) {
  const Caller waiting(listener, call);
  SocketAddress address;
  sandbox::Fd start;
  std::uint16_t port = 0;
  int error = waiting.address(1, 2, address);
  const std::string path = error == 0 ? address.path().value_or("") : "";
  if (!path.empty() && path.front() != '/') error = waiting.start(AT_FDCWD, start);
  if (error == 0 && address.port() && isTcp(waiting, waiting.number(0))) port = *address.port();
  listener.letGoOn(call.id);
  observer.lookAtPort(port);
  if (error == 0)
    observer.look(DeniedOperation::kConnect, Caller(listener, call, Waits::kNo), std::move(start), path);
}

void observeEntering(const sandbox::NotifyListener& listener, const sandbox::Notification& call,
                     Observer& observer) {
  const Caller waiting(listener, call);
  std::string path;
  sandbox::Fd start;
  int error = waiting.path(0, path);
  if (error == 0 && !path.empty() && path.front() != '/') error = waiting.start(AT_FDCWD, start);
  listener.letGoOn(call.id);
  if (error == 0)
    observer.look(DeniedOperation::kEnter, Caller(listener, call, Waits::kNo), std::move(start), path);
}

// Rare calls that go on likewise: of the file system that the command has they are denied nothing by us.
bool observeRare(const sandbox::NotifyListener& listener, const sandbox::Notification& call,
                 Observer& observer) {
  if (call.number == SYS_connect) {
    observeConnecting(listener, call, observer);
  } else if (call.number == SYS_chdir) {
    observeEntering(listener, call, observer);
  } else {
    return false;
  }
  return true;
}

// The port of our own front that Landlock keeps from the command.
std::uint16_t keptPort(const CommandScope& scope) {
  return scope.network == Network::kFull && sandbox::landlockAbi() >= sandbox::kAbiOfPorts ? scope.apiPort
                                                                                           : 0;
}

// Trees that the command may read whatever lies in them.
std::vector<std::string> openTrees(const CommandScope& scope, const sandbox::NamespacePosture& namespaces) {
  std::vector<std::string> trees;
  // With mounts it hides what the machine has there.
  if (!namespaces.mount) trees = {scope.temporary, scope.home};
  for (const SystemDirectory& directory : systemDirectories()) trees.emplace_back(directory.path);
  for (const SystemFile& file : systemFacts()) trees.emplace_back(file.path);
  for (const SystemFile& device : devices()) trees.emplace_back(device.path);
  trees.insert(trees.end(), scope.programPaths.begin(), scope.programPaths.end());
  trees.insert(trees.end(), scope.readPaths.begin(), scope.readPaths.end());
  return trees;
}

seccomp_data dataOf(const sandbox::Notification& call) {
  const auto& a = call.arguments;
  return sandbox::callData(call.number, {a[0], a[1], a[2], a[3], a[4], a[5]});
}

void tellWhatIsOwed() {
  working = 0;
  if (owed == 0) return;
  owed = 0;
  reapChildren(SIGCHLD);
}

// It is left to be the command's parent, until the keeper ends it. Its leader's end may still have to be
// told: the listener knows of it before the signal comes. Not pause(), which is no call of goferCalls().
[[noreturn]] void waitForTheEnd() {
  tellWhatIsOwed();
  while (true) poll(nullptr, 0, -1);
}

[[noreturn]] void serve(GoferPlan& plan, sandbox::Fd descriptor, pid_t leaderPid) {
  const CommandScope& scope = plan.command->scope;
  sandbox::NotifyListener listener(std::move(descriptor));
  const sandbox::SeccompPolicy calls = commandCalls(scope.network, plan.namespaces, sandbox::landlockAbi());
  const GuardedNames names(scope.workspace, plan.paths, plan.namespaces.mount ? Mounted::kYes : Mounted::kNo);
  const Standing standing(scope.workspace, plan.namespaces.mount ? Mounted::kYes : Mounted::kNo);
  Observer observer({*plan.denials,
                     scope.workspace,
                     plan.state,
                     openTrees(scope, plan.namespaces),
                     {scope.workspace, scope.temporary, scope.home},
                     std::move(plan.machine),
                     plan.namespaces.mount,
                     keptPort(scope)});
  FileCalls files(
      {listener, names, standing, *plan.denials, observer, scope.terminal, leaderPid, kUsualMask, plan.line});
  sandbox::LandlockPolicy asBefore;
  asBefore.files.scope = sandbox::FileScope::kUnrestricted;
  asBefore.scopes = {sandbox::Need::kOff, sandbox::Need::kOff};
  if (plan.namespaces.mount) sandbox::narrow(asBefore, goferLooks(), sandbox::Traps::kNone);
  sandbox::narrow(asBefore, goferCalls(), sandbox::Traps::kNone);

  while (true) {
    tellWhatIsOwed();
    const std::optional<sandbox::Notification> call = listener.receive();
    working = 1;
    if (!call) {
      if (listener.isOver()) waitForTheEnd();
      continue;
    }
    // Nearly all of them are these.
    if (isObserved(*call)) {
      observe(listener, *call, observer);
      continue;
    }
    if (observeRare(listener, *call, observer)) continue;
    const sandbox::Verdict verdict = sandbox::rulingOf(calls, dataOf(*call)).verdict;
    if (verdict.kind == sandbox::Verdict::Kind::kErrno) {
      plan.denials->add(denialOf(*call));
      listener.fail(call->id, verdict.error);
    } else if (!files.handle(*call)) {
      listener.fail(call->id, ENOSYS);
    }
  }
}

void closeAllButOwn(const GoferPlan& plan, int socket) {
  std::vector<int> keep = {STDIN_FILENO, STDOUT_FILENO,         STDERR_FILENO,
                           plan.line,    plan.denials->event(), socket};
  for (const Machine::Tree& tree : plan.machine.trees) keep.push_back(tree.handle.get());
  sandbox::closeAllBut(keep);
}

// Everything that the command is held by but its own filter: namespaces, mounts, limits, Landlock. Then the
// command, whose listener comes back over `pair`.
[[noreturn]] void run(GoferPlan& plan) {
  Command& command = *plan.command;
  prctl(PR_SET_NAME, "gofer", 0, 0, 0);  // for who lists processes
  int pair[2];
  checked(Step::kDescriptors, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "socketpair_refused");
  sandbox::becomeSubreaper();
  command.scope.keep = {
      STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, command.terminal, command.workspace,    command.executable,
      plan.status,  plan.line,     pair[0],       pair[1],          plan.denials->event()};
  if (command.script >= 0) command.scope.keep.push_back(command.script);
  if (plan.namespaces.mount) plan.machine = Machine::open(plan.state, plan.userHome);
  for (const Machine::Tree& tree : plan.machine.trees) command.scope.keep.push_back(tree.handle.get());
  enterFiles(command, plan.namespaces, plan.status);
  const bool supervise = sandbox::canSupervise() && seesProcesses();

  handleChildren(SIG_BLOCK);  // until it is known which of them is the leader
  watchChildren();
  const pid_t child = checked(Step::kIdentity, _Fork(), "fork_refused");  // as the keeper does
  if (child == 0) becomeCommand(command, plan.namespaces, supervise ? pair[1] : -1, plan.status);
  reportLine = plan.line;
  leader = child;
  closeAllButOwn(plan, pair[0]);
  outliveFileSizes();
  report(GoferReport::Kind::kLeader, child);
  handleChildren(SIG_UNBLOCK);

  sandbox::Fd listener = supervise ? sandbox::receiveListener(pair[0]) : sandbox::Fd();
  close(pair[0]);
  if (!listener) waitForTheEnd();
  serve(plan, std::move(listener), child);
}

}  // namespace

[[noreturn]] void serveCalls(GoferPlan& plan, sandbox::Fd listener, pid_t leaderPid) {
  serve(plan, std::move(listener), leaderPid);
}

[[noreturn]] void runGofer(GoferPlan& plan) noexcept {
  try {
    run(plan);
  } catch (const SetupError& error) {
    tellFailure(plan.status, error);
  } catch (const std::exception&) {
    tellFailure(plan.status, SetupError(Step::kTree, 0, "internal_error"));
  }
  _exit(1);
}

}  // namespace factionos::session
