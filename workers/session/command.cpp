#include "workers/session/command.h"

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/enter.h"
#include "sandbox/environment.h"
#include "sandbox/landlock.h"
#include "sandbox/self_check.h"
#include "workers/common/signals.h"

namespace factionos::session {
namespace {

using sandbox::checked;
using sandbox::SetupError;
using sandbox::Step;

constexpr int kNeverExecuted = 127;  // what a shell says

void tell(int status, const std::string& line) noexcept {
  const ssize_t ignored = write(status, line.data(), line.size());
  static_cast<void>(ignored);
}

// A session of its own whose controlling terminal is the slave: ^C reaches the command and nobody else.
void takeTerminal(int terminal) {
  checked(Step::kIdentity, setsid(), "session_refused");
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    checked(Step::kDescriptors, dup2(terminal, standard), "terminal_refused");
  }
  checked(Step::kIdentity, ioctl(STDIN_FILENO, TIOCSCTTY, 0), "controlling_terminal_refused");
}

void standInWorkspace(const Command& command) {
  checked(Step::kSelfCheck, chdir(command.scope.workspace.c_str()), "workspace_unusable");
  struct stat here {};
  struct stat handle {};
  checked(Step::kSelfCheck, stat(".", &here), "workspace_unusable");
  checked(Step::kSelfCheck, fstat(command.workspace, &handle), "workspace_unusable");
  if (here.st_dev != handle.st_dev || here.st_ino != handle.st_ino) {
    throw SetupError(Step::kSelfCheck, ESTALE, "workspace_moved");
  }
}

void tellLabels(int status, const std::vector<std::string_view>& labels) {
  for (const std::string_view label : labels) tell(status, std::string(label) + "\n");
}

// The gofer, in the domain around this one, may look in here; from here nobody may touch it.
void leaveGofer() {
  sandbox::LandlockPolicy apart;
  apart.files.scope = sandbox::FileScope::kUnrestricted;
  apart.scopes = {sandbox::Need::kOff, sandbox::Need::kIfAvailable};
  sandbox::SeccompPolicy none;
  none.scope = sandbox::SeccompScope::kNone;
  sandbox::narrow(apart, none, sandbox::Traps::kNone);
}

sandbox::LandlockPolicy nothingMore() {
  sandbox::LandlockPolicy policy;
  policy.files.scope = sandbox::FileScope::kUnrestricted;
  policy.scopes = {sandbox::Need::kOff, sandbox::Need::kOff};
  return policy;
}

// False: another listener is in the way, in a sandbox around ours (as under WSL 2).
bool filterSupervised(sandbox::Policy policy, const Supervision& supervision, int listenerTo) {
  policy.seccomp = supervised(std::move(policy.seccomp), supervision);
  policy.seccomp.listenerTo = listenerTo;
  try {
    sandbox::narrow(nothingMore(), sandbox::withSelfCheck(policy), policy.traps);
    return true;
  } catch (const SetupError& error) {
    if (error.step() != Step::kSeccomp || error.error() != EBUSY) throw;
    return false;
  }
}

void filterCalls(const Command& command, const sandbox::NamespacePosture& namespaces, int listenerTo,
                 int status) {
  const int abi = sandbox::landlockAbi();
  const sandbox::Policy policy = commandPolicy(command.scope, namespaces, abi);
  Supervision supervision = supervisionOf(command.scope.network, namespaces, abi);
  supervision.unheardOpens = command.unheardOpens;
  const Supervised supervised = enterFilter(policy, supervision, listenerTo);
  sandbox::checkSelf(policy);
  tellLabels(status, supervisionPosture(command.scope, namespaces, supervised));
}

// The last look: the program opens its operands by their paths from here on.
void compareFiles(const Command& command) {
  struct stat status {};
  checked(Step::kSelfCheck, fstat(command.executable, &status), "program_changed");
  if (!(FileState::of(status) == command.executableState))
    throw SetupError(Step::kSelfCheck, ESTALE, "program_changed");
  for (const NamedFile& operand : command.operands) {
    if (!isUnchanged(command.workspace, operand))
      throw SetupError(Step::kSelfCheck, ESTALE, "operand_changed");
  }
}

void execute(Command& command) {
  if (command.script >= 0) checked(Step::kDescriptors, fcntl(command.script, F_SETFD, 0), "script_refused");
  std::vector<char*> argv = sandbox::environmentPointers(command.argv);
  std::vector<char*> environment = sandbox::environmentPointers(command.environment);
  execveat(command.executable, "", argv.data(), environment.data(), AT_EMPTY_PATH);
  throw SetupError(Step::kSelfCheck, errno, "exec_refused");
}

}  // namespace

void tellFailure(int status, const SetupError& error) noexcept {
  tell(status, "!" + std::to_string(static_cast<unsigned>(error.step())) + " " +
                   std::to_string(error.error()) + " " + std::string(error.reason()) + "\n");
}

Supervised enterFilter(const sandbox::Policy& policy, const Supervision& supervision, int listenerTo) {
  leaveGofer();
  if (listenerTo >= 0 && filterSupervised(policy, supervision, listenerTo)) return Supervised::kYes;
  sandbox::narrow(nothingMore(), sandbox::withSelfCheck(policy), policy.traps);
  return Supervised::kNo;
}

void enterFiles(const Command& command, const sandbox::NamespacePosture& namespaces, int status) {
  const int abi = sandbox::landlockAbi();
  sandbox::Policy policy = commandPolicy(command.scope, namespaces, abi);
  policy.seccomp.scope = sandbox::SeccompScope::kNone;  // follows in the child, and in each another one
  const sandbox::Posture posture = sandbox::enterInside(policy, namespaces);
  tellLabels(status, commandPosture(command.scope, namespaces, abi));
  tellLabels(status, posture.missing);
}

// The workspace's handle is kept until it has been compared; execveat closes it, and the status pipe, as they
// are CLOEXEC.
[[noreturn]] void becomeCommand(Command& command, const sandbox::NamespacePosture& namespaces, int listenerTo,
                                int status) noexcept {
  try {
    takeTerminal(command.terminal);
    worker::defaultSignals();
    command.scope.keep = {STDIN_FILENO,      STDOUT_FILENO,      STDERR_FILENO,
                          command.workspace, command.executable, status};
    for (const int other : {command.script, listenerTo}) {
      if (other >= 0) command.scope.keep.push_back(other);
    }
    sandbox::closeAllBut(command.scope.keep);
    umask(kUsualMask);  // before anybody hears of it: see Masks
    filterCalls(command, namespaces, listenerTo, status);
    standInWorkspace(command);
    compareFiles(command);
    execute(command);
  } catch (const SetupError& error) {
    tellFailure(status, error);
  } catch (const std::exception&) {
    tell(status, "!0 0 internal_error\n");
  }
  _exit(kNeverExecuted);
}

}  // namespace factionos::session
