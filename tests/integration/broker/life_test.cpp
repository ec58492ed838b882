// What happens to the others when one process dies.
#include <csignal>
#include <filesystem>
#include <sstream>

#include <sys/syscall.h>

#include "live_broker.h"

namespace factionos::test {
namespace {

const std::string kLong = R"("shell":"echo x >>count; echo ready; sleep 1000")";

struct Started {
  std::string session;
  std::string action;
};

Started startLong(LiveBroker& broker, const std::string& token) {
  const auto started = broker.run(kLong, token, "k1");
  const auto session = started.at("/session/id");
  broker.untilOutput(session, "ready", token);
  return {session, started.at("/action/id")};
}

void expectGone(const std::vector<pid_t>& processes) {
  for (const auto pid : processes) EXPECT_TRUE(eventually([&]() { return ::kill(pid, 0) != 0; }, 10)) << pid;
}

TEST(Life, P41_E12_P80_AKilledBrokerTakesItsSessionsAndTheActionIsNeverRunAgain) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto started = startLong(broker, token);
  const auto all = descendants(broker.pid());
  ASSERT_GE(all.size(), 4U);
  ::kill(broker.pid(), SIGKILL);
  expectGone(all);
  broker.stop();
  broker.start();
  EXPECT_EQ(broker.action(started.action, token).at("/action/state"), "failed");
  EXPECT_EQ(broker.action(started.action, token).at("/action/failureCode"), "lost_in_crash");
  const auto again = broker.propose(kLong, token, "k1");
  EXPECT_TRUE(again.status == 201 || again.status == 504) << again.body;
  EXPECT_EQ(readFile(broker.workspace() + "/count"), "x\n");
  EXPECT_EQ(broker.cli({"audit", "verify"}).status, 0);
  EXPECT_NE(broker.cli({"audit", "list"}).out.find("unknown"), std::string::npos);
}

TEST(Life, P41_WorkersKilledAndThenTheBrokerLeaveNothingAndTheRecordSaysSo) {
  for (const std::string worker : {"pty", "session", "launcher"}) {
    LiveBroker broker;
    const auto token = broker.token();
    const auto started = startLong(broker, token);
    const auto all = descendants(broker.pid());
    ::kill(broker.child(worker), SIGKILL);
    ::kill(broker.pid(), SIGKILL);
    expectGone(all);
    broker.stop();
    broker.start();
    const auto action = broker.action(started.action, token);
    EXPECT_EQ(action.at("/action/state"), "failed") << worker << action.body;
    EXPECT_FALSE(action.at("/action/failureCode").empty()) << worker;
    EXPECT_EQ(readFile(broker.workspace() + "/count"), "x\n") << worker;
    EXPECT_EQ(broker.cli({"audit", "verify"}).status, 0) << worker;
  }
}

// A workspace that is gone is refused; no other directory takes its place.
TEST(Life, P6_ASessionIsInItsWorkspaceOrNowhere) {
  LiveBroker broker;
  const auto token = broker.token();
  EXPECT_EQ(outputOf(broker.outcome(R"("command":["pwd"])", token, "k1")), broker.workspace() + "\n");
  const auto id = broker.propose(R"("command":["pwd"])", token, "k2").at("/action/id");
  ASSERT_EQ(broker.approve(id).status, 0);
  std::filesystem::rename(broker.workspace(), broker.workspace() + "-gone");
  const auto refused = broker.execute(R"("command":["pwd"])", token, "k2", id);
  EXPECT_GE(refused.status, 400) << refused.body;
  EXPECT_FALSE(refused.code().empty());
  std::filesystem::rename(broker.workspace() + "-gone", broker.workspace());
}

TEST(Life, ALostLauncherEndsTheBrokerWithNothingLeft) {
  LiveBroker broker;
  const auto token = broker.token();
  startLong(broker, token);
  const auto all = descendants(broker.pid());
  ::kill(broker.child("launcher"), SIGKILL);
  EXPECT_EQ(broker.process().finish(20).status, 1);
  expectGone(all);
}

TEST(Life, ALostPtyWorkerEndsItsActionAndTheBrokerServesOn) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto started = startLong(broker, token);
  std::vector<pid_t> workers;
  for (const auto pid : descendants(broker.pid())) {
    if (readFile("/proc/" + std::to_string(pid) + "/comm") == "pty\n") workers.push_back(pid);
  }
  for (const auto pid : workers) ::kill(pid, SIGKILL);
  const auto ended = broker.ended(started.session, token);
  EXPECT_EQ(ended.at("/session/failureCode"), "worker_lost");
  EXPECT_EQ(broker.outcome(R"("command":["true"])", token, "k2").at("/session/exit/code"), "0");
}

TEST(Life, ALostSupervisorEndsItsActionAndItsTree) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto started = startLong(broker, token);
  const auto supervisor = broker.child("session");
  const auto below = descendants(supervisor);
  ::kill(supervisor, SIGKILL);
  const auto ended = broker.ended(started.session, token);
  EXPECT_EQ(ended.at("/session/failureCode"), "supervisor_lost");
  expectGone(below);
}

// The session outlives its keeper and reports the loss; that is no exit status of the command.
TEST(Life, ALostKeeperIsToldAsLost) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto started = startLong(broker, token);
  const auto below = descendants(broker.child("session"));
  ASSERT_GE(below.size(), 2U);
  ::kill(below.front(), SIGKILL);
  const auto ended = broker.ended(started.session, token);
  EXPECT_EQ(ended.at("/session/failureCode"), "supervisor_lost");
  expectGone(below);
}

// As if the process's own filter had refused the call: SIGSYS, with the number where the kernel puts it.
void refuseCall(pid_t process, int number) {
  sigval value{};
  value.sival_int = number;
  ASSERT_EQ(::sigqueue(process, SIGSYS, value), 0);
}

TEST(Life, ASupervisorThatItsFilterEndedMisbehavedAndTheLogNamesTheCall) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto started = startLong(broker, token);
  const auto supervisor = broker.child("session");
  const auto below = descendants(supervisor);
  refuseCall(supervisor, SYS_execve);
  EXPECT_EQ(broker.ended(started.session, token).at("/session/failureCode"), "worker_misbehaved");
  EXPECT_EQ(broker.action(started.action, token).at("/action/failureCode"), "worker_misbehaved");
  EXPECT_NE(broker.process().waitForLine("worker_misbehaved worker=session session=" + started.session +
                                         " breach=refused_call syscall=" + std::to_string(SYS_execve)),
            "");
  expectGone(below);
}

TEST(Life, AFrontThatItsFilterEndedIsStartedAgainAndTheLogNamesTheCall) {
  LiveBroker broker;
  refuseCall(broker.child("front"), SYS_openat);
  EXPECT_NE(broker.process().waitForLine(
                "worker_misbehaved worker=front session=none breach=refused_call syscall=" +
                std::to_string(SYS_openat)),
            "");
  EXPECT_TRUE(eventually([&]() { return request(broker.port(), "GET", "/healthz", "", {}).status == 200; }));
}

// Without a mount namespace the modes of the home are in the reach of every command; its descriptors are not.
TEST(Life, TheHomeIsClosedAgainWhereACommandCanOpenItsModes) {
  LiveBroker broker({.kernel = Setup::Kernel::kNoUserNamespaces});
  const auto token = broker.token();
  const auto mode = [&broker]() { return std::filesystem::status(broker.home()).permissions(); };
  const auto started = startLong(broker, token);
  const auto posture = broker.get("/v1/terminal/sessions/" + started.session, token).body;
  EXPECT_NE(posture.find("metadata:unguarded"), std::string::npos) << posture;
  const auto opened = broker.outcome(
      R"("shell":)" + json("chmod 0777 " + broker.home() + " && stat -c %a " + broker.home()), token, "k2");
  EXPECT_NE(outputOf(opened).find("777"), std::string::npos) << "the control: it could be opened";
  EXPECT_EQ(mode(), std::filesystem::perms::owner_all);
}

TEST(Life, SessionsLiveOnWhenTheFrontIsKilled) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto started = startLong(broker, token);
  ::kill(broker.child("front"), SIGKILL);
  ASSERT_TRUE(eventually([&]() { return request(broker.port(), "GET", "/healthz", "", {}).status == 200; }));
  const auto seen = broker.get("/v1/terminal/sessions/" + started.session, token);
  EXPECT_EQ(seen.at("/session/state"), "running") << seen.body;
  EXPECT_NE(outputOf(seen).find("ready"), std::string::npos);
}

TEST(Life, ShutdownLeavesNothing) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto started = startLong(broker, token);
  const auto all = descendants(broker.pid());
  broker.process().signal(SIGTERM);
  EXPECT_EQ(broker.process().finish(20).status, 0);
  expectGone(all);
  EXPECT_TRUE(std::filesystem::is_empty(broker.home() + "/run/scratch"));
  broker.start();
  EXPECT_EQ(broker.action(started.action, token).at("/action/failureCode"), "shutdown");
}

// More end at once than the broker remembers, each while it is still waited for.
TEST(Life, ShutdownWithMoreSessionsThanAreRememberedEndsThemAll) {
  constexpr int kSessions = 70;  // SessionBook::kMaxEnded is 64
  LiveBroker broker({.limits = "max_sessions = 80\n"});
  const auto token = broker.token("read,propose", "agent");
  ASSERT_EQ(broker
                .cli({"grant", "add", "--workspace", "demo", "--principal", "token:agent", "--program",
                      "/usr/bin/sleep", "--for", "30m"})
                .status,
            0);
  for (int i = 0; i < kSessions; ++i)
    ASSERT_EQ(broker.propose(R"("command":["sleep","1000"])", token, "n" + std::to_string(i)).status, 201);
  const auto all = descendants(broker.pid());
  broker.process().signal(SIGTERM);
  const auto ended = broker.process().finish(30);
  EXPECT_EQ(ended.status, 0) << ended.err;
  expectGone(all);
}

TEST(Life, TheCommandHoldsItsTerminalAndNothingElse) {
  LiveBroker broker;
  const auto token = broker.token();
  const std::string list =
      "import os\nfor fd in sorted(os.listdir('/proc/self/fd'), key=int):\n  try: print(fd, "
      "os.readlink('/proc/self/fd/'+fd))\n  except OSError: pass\n";
  const auto output =
      outputOf(broker.outcome(R"("command":["python3","-c",)" + json(list) + "]", token, "k2"));
  std::istringstream lines(output);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_NE(line.find("/dev/pts/"), std::string::npos) << output;
  EXPECT_EQ(count, 3) << output;
}

}  // namespace
}  // namespace factionos::test
