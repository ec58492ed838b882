// Deaths that no single place of the matrix stands for, and what many of them leave behind.
#include <csignal>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "process.h"
#include "tests/absent.h"
#include "tests/crash/inspector.h"
#include "tests/crash/places.h"
#include "tests/crash/trial.h"

namespace factionos::test {
namespace {

using broker::Edge;
using broker::Step;

// `victim` dies where the broker has stopped, whoever is left goes on to the end, and the next life begins.
void dieAndComeBack(Rig& rig, Victim victim, std::thread& client) {
  const auto all = rig.tree();
  for (const auto pid : rig.find(victim)) ::kill(pid, SIGKILL);
  if (victim != Victim::kBroker) rig.resume();
  rig.runOut();
  client.join();
  EXPECT_TRUE(Rig::gone(all));
  rig.start();
}

class AKillByTheOwner : public testing::TestWithParam<Edge> {};
TEST_P(AKillByTheOwner, EndsTheSessionOnceWhoeverDiesMeanwhile) {
  const auto place = placeOf(Step::kKill, GetParam());
  Rig rig;
  for (const auto victim : kVictims) {
    SCOPED_TRACE(place + ", killed: " + nameOf(victim));
    const auto name = std::string("killed-") + nameOf(victim);
    rig.start(placeOf(Step::kReply, Edge::kAfter) + "," + place);
    std::string action;
    std::thread client([&]() {
      if (!rig.serving()) return;
      Trial trial(rig, name);
      if (!trial.approve()) return rig.signal(SIGKILL);
      action = trial.action();
      const auto reply = rig.post("/v1/terminal/run",
                                  R"({"workspace":"demo","shell":"echo )" + name +
                                      R"( >>effects; read line","approval":{"actionId":")" + action +
                                      R"(","expectedRevision":2}})",
                                  name);
      rig.post("/v1/terminal/sessions/" + reply.at("/session/id") + "/kill", "{}", "kill-" + name);
      eventually([&]() {
        const auto seen = rig.get("/v1/actions/" + action);
        return isOutcome(seen.at("/action/state")) || !rig.reachable();
      });
      rig.signal(SIGTERM);
    });
    EXPECT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
    rig.resume();
    EXPECT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
    dieAndComeBack(rig, victim, client);
    ASSERT_TRUE(rig.serving()) << rig.log();
    EXPECT_EQ(rig.get("/v1/actions/" + action).at("/action/state"), "failed");
    EXPECT_TRUE(rig.verify().intact());
    EXPECT_EQ(rig.stop(), 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Crash, AKillByTheOwner, testing::Values(Edge::kBefore, Edge::kAfter),
                         [](const auto& each) { return each.param == Edge::kBefore ? "before" : "after"; });

// The start fails after intent, and somebody dies while that is recorded.
class AFailedStart : public testing::TestWithParam<std::string> {};
TEST_P(AFailedStart, IsRecordedOnceWhoeverDiesMeanwhile) {
  Rig rig;
  for (const auto victim : {Victim::kBroker, Victim::kLauncher, Victim::kFront}) {
    SCOPED_TRACE(nameOf(victim));
    Trial trial(rig, std::string("unstarted-") + nameOf(victim));
    rig.start("begin.after," + GetParam());
    std::thread client([&]() {
      if (!rig.serving()) return;
      if (trial.drive() != Trial::End::kNobody) rig.signal(SIGTERM);
    });
    ASSERT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
    for (const auto pid : rig.find(Victim::kSession)) ::kill(pid, SIGKILL);
    rig.resume();
    ASSERT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
    dieAndComeBack(rig, victim, client);
    ASSERT_TRUE(rig.serving()) << rig.log();
    EXPECT_EQ(trial.state(), "failed");
    EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace();
    EXPECT_EQ(trial.effects(), 0U);
    EXPECT_EQ(rig.stop(), 0);
    EXPECT_TRUE(rig.verify().intact());
  }
}
INSTANTIATE_TEST_SUITE_P(Crash, AFailedStart,
                         testing::Values("fail.before", "fail.before/write.after_audit_sync",
                                         "fail.before/write.before_commit", "fail.before/write.after_commit",
                                         "fail.after"),
                         placeName);

// One that lives and does nothing keeps the clients' connections waiting; nobody else would end it.
TEST(Crash, AFrontThatHangsBeforeItServesIsReplaced) {
  Rig rig;
  rig.start(placeOf(Step::kLaunchFront, Edge::kAfter));
  ASSERT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
  ASSERT_TRUE(eventually([&]() { return !rig.find(Victim::kFront).empty(); }));
  for (const auto pid : rig.find(Victim::kFront)) ::kill(pid, SIGSTOP);
  rig.resume();
  ASSERT_TRUE(rig.serving());
  EXPECT_TRUE(eventually([&]() { return rig.get("/readyz").status == 200; }));
  EXPECT_EQ(rig.stop(), 0);
}

TEST(Crash, ManyDeathsLeakNoDescriptorAndNoDirectory) {
  Rig rig;
  rig.start();
  ASSERT_TRUE(rig.serving());
  const auto one = [&rig](const std::string& name, std::optional<Victim> victim) {
    Trial trial(rig, name);
    std::thread client([&]() { trial.drive(); });
    EXPECT_TRUE(eventually([&]() { return trial.effects() == 1; })) << trial.trace();
    if (victim) {
      for (const auto pid : rig.find(*victim)) ::kill(pid, SIGKILL);
    }
    client.join();
    EXPECT_TRUE(isOutcome(trial.state())) << trial.trace();
  };
  one("first", std::nullopt);
  const auto settled = [&rig]() {
    return rig.find(Victim::kSession).empty() && rig.find(Victim::kPty).size() == 1 &&
           rig.find(Victim::kSpare).size() == 1 && rig.find(Victim::kFront).size() == 1 &&
           rig.scratchIsEmpty();
  };
  ASSERT_TRUE(eventually(settled));
  const auto broker = rig.descriptors(Victim::kBroker);
  const auto launcher = rig.descriptors(Victim::kLauncher);
  if (!broker || !launcher) {
    ABSENT("descriptors of processes that are not dumpable: only root may count them");
  }
  for (const auto victim :
       {Victim::kFront, Victim::kSession, Victim::kKeeper, Victim::kPty, Victim::kSpare, Victim::kCommand}) {
    SCOPED_TRACE(nameOf(victim));
    for (int i = 0; i < 3; ++i) {
      one(std::string(nameOf(victim)) + std::to_string(i), victim);
      EXPECT_TRUE(eventually([&]() { return rig.find(Victim::kSession).empty() && rig.scratchIsEmpty(); }));
    }
    // And once more in peace, after which a spare supervisor and a spare pty worker wait again.
    one(std::string(nameOf(victim)) + "-last", std::nullopt);
    EXPECT_TRUE(eventually(settled));
    EXPECT_TRUE(eventually([&]() {
      return *rig.descriptors(Victim::kBroker) == *broker && *rig.descriptors(Victim::kLauncher) == *launcher;
    })) << "broker "
        << *broker << " to " << *rig.descriptors(Victim::kBroker) << ", launcher " << *launcher << " to "
        << *rig.descriptors(Victim::kLauncher);
  }
}

}  // namespace
}  // namespace factionos::test
