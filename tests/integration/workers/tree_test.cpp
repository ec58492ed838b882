// Nothing of a tree survives: not its leader's end, not a kill, not the death of any process of ours.
#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include "harness.h"

namespace factionos::test {
namespace {

// A tree that does not want to die: a setsid child, a double fork, one that ignores what can be ignored.
constexpr const char* kStubborn =
    "trap '' HUP TERM INT; "
    "setsid sh -c 'trap \"\" HUP TERM; sleep 1000' & "
    "(setsid sh -c '(trap \"\" HUP TERM INT; sleep 1001) & exit 0' &) ; "
    "sh -c 'trap \"\" HUP TERM INT; sleep 1002' & "
    "sleep 0.2; echo planted; ";

std::vector<pid_t> named(const std::string& name) {
  std::vector<pid_t> found;
  for (const pid_t pid : descendants()) {
    if (nameOf(pid) == name) found.push_back(pid);
  }
  return found;
}

class TreeEnd : public StoryTest {
 protected:
  // A broker whose stubborn tree stands.
  std::unique_ptr<Running> plant(Broker& broker, const std::string& then) {
    auto running = broker.start(shell(kStubborn + then, GetParam()));
    running->expectOutput("planted");
    EXPECT_GE(named("sleep").size(), 3U);
    return running;
  }
};
INSTANTIATE_TEST_SUITE_P(Stories, TreeEnd, testing::Values(Story::kNamespaces, Story::kForbidden), storyName);

TEST_P(TreeEnd, E3_KillEndsSetsidDoubleForkedAndDeafChildren) {
  Broker broker;
  const auto running = plant(broker, "sleep 1003");
  running->kill();
  EXPECT_TRUE(named("sleep").empty());
  const Result& result = running->finish();
  EXPECT_EQ(result.reason, schema::EndReason::KILLED);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_GE(result.peakProcesses, 4U);
}

TEST_P(TreeEnd, P38_NothingOutlivesTheLeader) {
  Broker broker;
  const auto running = plant(broker, "read go; exit 4");
  EXPECT_EQ(running->input("\n"), "");
  const Result& result = running->finish();
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.reason, schema::EndReason::EXITED);
  EXPECT_TRUE(named("sleep").empty());
}

TEST_P(TreeEnd, DroppingTheSessionEndsIt) {
  Broker broker;
  const auto running = plant(broker, "sleep 1003");
  running->drop();
  broker.wait(broker.loop.timer().afterDelay(1 * kj::MILLISECONDS));
  const auto gone = [&]() {
    return named("sleep").empty() && named("session").empty() && named("keeper").empty() &&
           named("gofer").empty() && named("pty").empty();
  };
  for (int i = 0; i < 500 && !gone(); ++i) broker.wait(broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
  EXPECT_TRUE(gone());
}

TEST_P(TreeEnd, ClosingTheBrokersLineEndsEverything) {
  Broker broker;
  const auto running = plant(broker, "sleep 1003");
  running->drop();
  broker.closeLine();
  expectNothingAlive();
}

TEST_P(TreeEnd, KillingTheLauncherEndsEverything) {
  Broker broker;
  const auto running = plant(broker, "sleep 1003");
  ASSERT_EQ(kill(broker.launcherPid, SIGKILL), 0);
  expectNothingAlive();
}

TEST_P(TreeEnd, P41_KillingTheSessionEndsItsTree) {
  Broker broker;
  const auto running = plant(broker, "sleep 1003");
  for (const pid_t child : childrenOf(broker.launcherPid)) {
    if (nameOf(child) == "session") kill(child, SIGKILL);
  }
  auto exit =
      broker.wait(KJ_ASSERT_NONNULL(running->sessionWorker).exitedRequest().send().then([](auto&& got) {
        return kj::mv(got);
      }));
  EXPECT_EQ(exit.getExit().getSignal(), SIGKILL);
  for (int i = 0; i < 500 && !named("sleep").empty(); ++i) poll(nullptr, 0, 10);
  EXPECT_TRUE(named("sleep").empty());
}

TEST_P(TreeEnd, KillingTheKeeperEndsItsTree) {
  Broker broker;
  const auto running = plant(broker, "sleep 1003");
  pid_t keeper = 0;
  for (const pid_t child : childrenOf(broker.launcherPid)) {
    for (const pid_t below : childrenOf(child)) keeper = below;
  }
  ASSERT_EQ(nameOf(keeper), "keeper");
  ASSERT_EQ(kill(keeper, SIGKILL), 0);
  const Result& result = running->finish();
  EXPECT_EQ(result.reason, schema::EndReason::LOST);
  EXPECT_TRUE(named("sleep").empty());
}

TEST_P(TreeEnd, KillingTheGoferEndsItsTree) {
  Broker broker;
  const auto running = plant(broker, "sleep 1003");
  const std::vector<pid_t> gofers = named("gofer");
  ASSERT_EQ(gofers.size(), 1U);
  ASSERT_EQ(kill(gofers.front(), SIGKILL), 0);
  const Result& result = running->finish();
  EXPECT_EQ(result.reason, schema::EndReason::LOST);
  EXPECT_TRUE(named("sleep").empty());
}

// A call that waits has a process of the gofer's, which lives on without it: that is not the gofer.
TEST_P(TreeEnd, KillingTheGoferEndsItsTreeWhileACallWaits) {
  Broker broker;
  const auto running =
      broker.start(shell("mkfifo fifo; (echo x > fifo) & echo planted; sleep 1003", GetParam()));
  running->expectOutput("planted");
  std::vector<pid_t> gofers;
  for (int i = 0; i < 500 && gofers.size() < 2; ++i) {
    poll(nullptr, 0, 10);
    gofers = named("gofer");
  }
  ASSERT_EQ(gofers.size(), 2U);
  const std::vector<pid_t> below = childrenOf(gofers.front());
  const bool isFirst = std::ranges::find(below, gofers.back()) != below.end();
  ASSERT_EQ(kill(isFirst ? gofers.front() : gofers.back(), SIGKILL), 0);
  const Result& result = running->finish();
  EXPECT_EQ(result.reason, schema::EndReason::LOST);
  EXPECT_TRUE(named("sleep").empty());
  EXPECT_TRUE(named("gofer").empty());
}

TEST_P(TreeEnd, KillingThePtyWorkerHangsTheTerminalUp) {
  Broker broker;
  const auto running = broker.start(shell("echo planted; cat; sleep 1000", GetParam()));
  running->expectOutput("planted");
  const std::vector<pid_t> workers = named("pty");
  ASSERT_EQ(workers.size(), 1U);
  ASSERT_EQ(kill(workers.front(), SIGKILL), 0);
  auto exit = broker.wait(KJ_ASSERT_NONNULL(running->ptyWorker).exitedRequest().send().then([](auto&& got) {
    return kj::mv(got);
  }));
  EXPECT_EQ(exit.getExit().getSignal(), SIGKILL);
  // The leader of a session whose terminal is gone gets SIGHUP.
  auto ended =
      broker.wait(running->session.exitedRequest().send().then([](auto&& got) { return kj::mv(got); }));
  EXPECT_EQ(ended.getExit().getSignal(), SIGHUP);
  EXPECT_TRUE(named("sleep").empty());
}

TEST_P(TreeEnd, P39_APortOfADoubleForkedChildIsClosed) {
  if (access("/usr/bin/python3", X_OK) != 0 && lacks("python3")) GTEST_SKIP();
  Broker broker;
  broker.world.write(broker.world.workspace + "/listen.py",
                     "import os, socket, sys, time\n"
                     "if os.fork(): time.sleep(1000)\n"
                     "os.setsid()\n"
                     "if os.fork(): os._exit(0)\n"
                     "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
                     "print('port', s.getsockname()[1], flush=True)\n"
                     "time.sleep(1000)\n");
  CommandLine command = argv({"/usr/bin/python3", "listen.py"}, GetParam());
  command.network = schema::NetworkProfile::FULL;
  const auto running = broker.start(command);
  ASSERT_EQ(running->result.denial, "");
  running->expectOutput("port ");
  running->kill();
  const std::string& output = running->finish().output;
  const auto port = static_cast<std::uint16_t>(std::stoul(output.substr(output.find("port ") + 5)));
  EXPECT_TRUE(refusesConnections(port));
}

TEST_P(TreeEnd, ATreeThatForksAsFastAsItCanIsKilled) {
  Broker broker;
  const auto running = broker.start(
      shell("echo planted; f() { while :; do (setsid sleep 5 &) ; done; }; f & f & f", GetParam()));
  running->expectOutput("planted");
  for (int i = 0; i < 500 && named("sleep").size() < 50; ++i) poll(nullptr, 0, 2);
  running->kill();
  EXPECT_TRUE(named("sleep").empty());
  running->finish();
}

}  // namespace
}  // namespace factionos::test
