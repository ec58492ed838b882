#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/namespaces.h"
#include "sandbox/tree.h"
#include "tests/bench/suites.h"
#include "workers/session/command_environment.h"
#include "workers/session/control.h"
#include "workers/session/keeper.h"
#include "workers/session/prepare.h"
#include "workers/session/programs.h"
#include "workers/session/pty_pair.h"

extern char** environ;

namespace factionos::bench {
namespace {

using Clock = std::chrono::steady_clock;

double millisecondsOf(const std::function<void()>& act) {
  const auto begin = Clock::now();
  act();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// CPU time of what this process has reaped, ms: says what waiting does not, and holds on a busy machine.
double reapedCpu() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

double medianOf(int times, const std::function<void(int)>& act) {
  act(-1);  // files and pages are there from the second time on
  std::vector<double> sample;
  for (int i = 0; i < times; ++i) sample.push_back(millisecondsOf([&] { act(i); }));
  return quantile(std::move(sample), 0.5);
}

bool isThere(const std::string& program) {
  return ::access(program.c_str(), X_OK) == 0;
}

void spawnAndWait(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0)
    throw std::runtime_error("can't start " + words[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error(words[0] + " failed");
}

// The keeper of one command, without any of our RPC: namespaces, mounts, Landlock, seccomp, exec, the end of
// the tree.
class BareSandbox {
 public:
  explicit BareSandbox(std::string workspace)
      : path_(std::move(workspace)),
        support_(sandbox::probeNamespaces()),
        workspace_(sandbox::openFile(path_.c_str(), O_PATH | O_DIRECTORY)) {
    sandbox::becomeSubreaper();
  }

  void run() {
    auto opened = session::openPtyPair({});
    auto& pty = std::get<session::PtyPair>(opened);
    const sandbox::Fd program = sandbox::openFile("/bin/true", O_RDONLY);
    int line[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0)
      throw std::runtime_error("socketpair");
    const sandbox::Fd own(line[0]);
    sandbox::Fd theirs(line[1]);
    session::KeeperPlan plan;
    plan.command.workspace = workspace_.get();
    plan.command.executable = program.get();
    struct stat status {};
    if (::fstat(program.get(), &status) != 0) throw std::runtime_error("/bin/true can't be looked at");
    plan.command.executableState = session::FileState::of(status);
    plan.command.terminal = pty.slave.get();
    plan.command.argv = {"true"};
    plan.command.scope.workspace = path_;
    plan.command.scope.terminal = pty.slavePath;
    plan.namespaces =
        session::commandNamespaces(session::Network::kNone, session::Namespaces::kWherePossible);
    plan.support = support_;
    plan.environment = session::standardVariables();
    session::DenialTable denials;
    plan.denials = &denials;
    plan.control = theirs.get();
    plan.session = ::getpid();
    plan.scratchParent = path_;
    const pid_t keeper = ::fork();
    if (keeper == 0) {
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // as the session has it, whose child a keeper is
      session::runKeeper(plan);
    }
    theirs.reset();
    const pid_t init = awaitEnd(own.get());
    ::waitpid(keeper, nullptr, 0);
    if (init > 0) ::waitpid(init, nullptr, 0);
  }

 private:
  // The pid of the namespace's init, which this process adopts; 0 without a namespace.
  static pid_t awaitEnd(int line) {
    pid_t init = 0;
    for (;;) {
      session::Report report;
      if (::recv(line, &report, sizeof report, MSG_WAITALL) != static_cast<ssize_t>(sizeof report))
        throw std::runtime_error("the keeper was lost");
      std::string text(report.textBytes, '\0');
      if (!text.empty()) ::recv(line, text.data(), text.size(), MSG_WAITALL);
      if (report.kind == session::Report::Kind::kFailed)
        throw std::runtime_error("the sandbox failed: " + text);
      if (report.kind == session::Report::Kind::kKeeper) init = static_cast<pid_t>(report.numbers[0]);
      if (report.kind == session::Report::Kind::kEnded) return init;
    }
  }

  std::string path_;
  sandbox::NamespaceSupport support_;
  sandbox::Fd workspace_;
};

}  // namespace

void measureStart(Report& report, Effort effort, Meter&) {
  const int times = effort == Effort::kFull ? 200 : 20;
  double cpu = reapedCpu();
  const double bare = medianOf(times, [](int) { spawnAndWait({"/bin/true"}); });
  const double bareCpu = (reapedCpu() - cpu) / (times + 1);
  const auto broker = allowingBroker();
  sandbox::useBuiltPrograms(session::kPrograms);  // as a session's main() does
  BareSandbox sandbox(broker->workspace());
  cpu = reapedCpu();
  const double inside = medianOf(times, [&](int) { sandbox.run(); });
  const double insideCpu = (reapedCpu() - cpu) / (times + 1);
  report.add({.suite = "start",
              .what = "sandbox alone: keeper, walls, exec, end",
              .unit = "ms",
              .value = inside,
              .beside = Beside{"fork and exec", bare},
              .aim = "≤ 5 ms more",
              .note = "adds " + std::to_string(inside - bare).substr(0, 5) + " ms, of which CPU time " +
                      std::to_string(insideCpu - bareCpu).substr(0, 5) + " ms"});
  const auto token = broker->token();
  const double whole = medianOf(times, [&](int i) {
    runToOutcome(*broker, R"("command":["true"])", token, "start" + std::to_string(i));
  });
  const std::vector<std::string> bwrap = {
      "/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/",     "/",
      "--dev",          "/dev",          "--proc",    "/proc", "/bin/true"};
  const std::vector<std::string> firejail = {"/usr/bin/firejail", "--quiet",       "--noprofile",
                                             "--net=none",        "--private-tmp", "/bin/true"};
  const std::string what = "true over REST: intent, run, outcome, audit";
  for (const auto& [name, words, aim] :
       {std::tuple{"bwrap --unshare-all", bwrap, "≤ 1"}, std::tuple{"firejail --net=none", firejail, ""}}) {
    if (!isThere(words[0])) {
      std::printf("start     %s is not installed\n", words[0].c_str());
      continue;
    }
    try {
      const double rival = medianOf(times, [&](int) { spawnAndWait(words); });
      report.add({.suite = "start",
                  .what = what,
                  .unit = "ms",
                  .value = whole,
                  .beside = Beside{name, rival},
                  .aim = aim});
    } catch (const std::runtime_error& error) {
      std::printf("start     %s\n", error.what());
    }
  }
  report.add({.suite = "start",
              .what = what,
              .unit = "ms",
              .value = whole,
              .beside = Beside{"fork and exec", bare}});
}

}  // namespace factionos::bench
