#include "workers/session/command.h"

#include <cerrno>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/enter.h"
#include "sandbox/environment.h"
#include "sandbox/landlock.h"

namespace factionos::session {
namespace {

using sandbox::checked;
using sandbox::SetupError;
using sandbox::Step;

constexpr int kNeverExecuted = 127;  // what a shell says
constexpr mode_t kUsualMask = 022;

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

// A program expects signals as they are after login: nothing ignored, nothing blocked.
void resetSignals() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  checked(Step::kIdentity, sigprocmask(SIG_SETMASK, &none, nullptr), "signals_refused");
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

void enterSandbox(const Command& command, const sandbox::NamespacePosture& namespaces, int status) {
  const int abi = sandbox::landlockAbi();
  const sandbox::Policy policy = commandPolicy(command.scope, namespaces, abi);
  const sandbox::Posture posture = sandbox::enterInside(policy, namespaces);
  for (const std::string_view label : commandPosture(command.scope, namespaces, abi)) {
    tell(status, std::string(label) + "\n");
  }
  for (const std::string_view label : posture.missing) tell(status, std::string(label) + "\n");
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

// The workspace's handle is kept until it has been compared; execveat closes it, and the status pipe, as they
// are CLOEXEC.
[[noreturn]] void becomeCommand(Command& command, const sandbox::NamespacePosture& namespaces,
                                int status) noexcept {
  try {
    takeTerminal(command.terminal);
    resetSignals();
    command.scope.keep = {STDIN_FILENO,      STDOUT_FILENO,      STDERR_FILENO,
                          command.workspace, command.executable, status};
    if (command.script >= 0) command.scope.keep.push_back(command.script);
    enterSandbox(command, namespaces, status);
    standInWorkspace(command);
    umask(kUsualMask);
    compareFiles(command);
    execute(command);
  } catch (const SetupError& error) {
    tell(status, "!" + std::to_string(static_cast<unsigned>(error.step())) + " " +
                     std::to_string(error.error()) + " " + std::string(error.reason()) + "\n");
  } catch (const std::exception&) {
    tell(status, "!0 0 internal_error\n");
  }
  _exit(kNeverExecuted);
}

}  // namespace factionos::session
