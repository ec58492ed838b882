// What the disk, the clock and another process may do to the broker without killing it.
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "process.h"
#include "tests/crash/places.h"
#include "tests/crash/trial.h"

namespace factionos::test {
namespace {

using broker::Edge;
using broker::Step;

struct DiskFault {
  const char* name;
  std::atomic<int> Control::*call;
  int error;
};
const DiskFault kDiskFaults[] = {{"full", &Control::writeError, ENOSPC},
                                 {"read_only", &Control::writeError, EROFS},
                                 {"failing_sync", &Control::syncError, EIO}};

class Disk : public testing::TestWithParam<DiskFault> {};

// The disk fails at the given change and works again once that was felt. Nobody kills anything, so the action
// must come to its end, once, and the client must hear of it.
TEST_P(Disk, ThatFailsAtAnyChangeRefusesItAndHealsWithoutARestart) {
  Rig rig;
  for (const auto step : {Step::kPropose, Step::kDecide, Step::kBegin, Step::kReply, Step::kOutcome}) {
    SCOPED_TRACE(nameOf(step));
    Trial trial(rig, std::string(nameOf(step)));
    rig.start(placeOf(step, Edge::kBefore));
    std::thread client([&]() {
      if (!rig.serving()) return;
      EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace() << rig.log();
      EXPECT_TRUE(eventually([&]() { return isOutcome(trial.state()); })) << trial.state();
      EXPECT_EQ(trial.state(), "succeeded");
      rig.signal(SIGTERM);
    });
    ASSERT_EQ(rig.await(), Rig::Change::kStopped);
    rig.control().failed = 0;
    (rig.control().*GetParam().call) = GetParam().error;
    rig.resume();
    EXPECT_TRUE(eventually([&]() { return rig.control().failed > 1; }));
    (rig.control().*GetParam().call) = 0;
    EXPECT_EQ(rig.await(), Rig::Change::kEnded);
    client.join();
    EXPECT_EQ(rig.status(), 0) << rig.log();
    EXPECT_EQ(trial.effects(), 1U);
    EXPECT_EQ(trial.beginnings(), 1U);
    const auto verdict = rig.verify();
    EXPECT_TRUE(verdict.intact()) << audit::nameOf(verdict.breach) << " at " << verdict.sequence;
  }
}

TEST_P(Disk, ThatFailsWhenAFailedStartIsRecordedLosesNotTheOutcome) {
  Rig rig;
  Trial trial(rig, "unstarted");
  rig.start("begin.after,fail.before");
  std::thread client([&]() {
    if (!rig.serving()) return;
    EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace();
    EXPECT_TRUE(eventually([&]() { return isOutcome(trial.state()); })) << trial.state();
    EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace();
    rig.signal(SIGTERM);
  });
  ASSERT_EQ(rig.await(), Rig::Change::kStopped);
  for (const auto pid : rig.find(Victim::kSession)) ::kill(pid, SIGKILL);
  rig.resume();
  ASSERT_EQ(rig.await(), Rig::Change::kStopped);
  rig.control().failed = 0;
  (rig.control().*GetParam().call) = GetParam().error;
  rig.resume();
  EXPECT_TRUE(eventually([&]() { return rig.control().failed > 0; }));
  (rig.control().*GetParam().call) = 0;
  EXPECT_EQ(rig.await(), Rig::Change::kEnded);
  client.join();
  EXPECT_EQ(rig.status(), 0);
  EXPECT_EQ(trial.effects(), 0U);
  EXPECT_TRUE(rig.verify().intact());
}

TEST_P(Disk, ThatFailsAtTheStartKeepsTheBrokerFromServing) {
  Rig rig;
  rig.start();
  ASSERT_TRUE(rig.serving());
  rig.signal(SIGTERM);
  rig.await();
  (rig.control().*GetParam().call) = GetParam().error;
  rig.start();
  EXPECT_FALSE(rig.serving());
  EXPECT_EQ(rig.await(), Rig::Change::kEnded);
  EXPECT_NE(rig.status(), 0);
  EXPECT_LT(rig.status(), 256) << "refused, not crashed";
  (rig.control().*GetParam().call) = 0;
  rig.start();
  EXPECT_TRUE(rig.serving()) << rig.log();
  EXPECT_TRUE(rig.verify().intact());
}

INSTANTIATE_TEST_SUITE_P(Faults, Disk, testing::ValuesIn(kDiskFaults),
                         [](const auto& each) { return each.param.name; });

constexpr std::int64_t kHour = 3'600'000;

// What runs for ever (the snapshots, the sweep of what has expired) goes on after a state that can't be read.
TEST(Faults, AStateThatCantBeReadForAWhileIsPublishedAndSweptAgain) {
  Rig rig;
  rig.start(placeOf(Step::kPropose, Edge::kAfter));
  std::string action;
  std::thread client([&]() {
    if (!rig.serving()) return;
    action =
        rig.post("/v1/terminal/run", R"({"workspace":"demo","shell":"true"})", "unread").at("/action/id");
  });
  ASSERT_EQ(rig.await(), Rig::Change::kStopped);
  rig.control().readError = EIO;
  rig.resume();
  client.join();
  for (const char* event : {"snapshot_failed", "expiry_failed"})
    EXPECT_TRUE(eventually([&]() { return rig.log().find(event) != std::string::npos; })) << event;
  rig.control().readError = 0;
  EXPECT_TRUE(eventually(
      [&]() { return rig.get("/v1/command-center").at("/commandCenter/actions/0/id") == action; }));
  rig.control().clockShiftMs = kHour;
  EXPECT_TRUE(
      eventually([&]() { return rig.get("/v1/actions/" + action).at("/action/state") == "expired"; }));
}

TEST(Faults, AClockThatStepsBackAndForthBetweenAllChangesHarmsNoAction) {
  Rig rig;
  for (const auto step :
       {Step::kPropose, Step::kDecide, Step::kBegin, Step::kStart, Step::kReply, Step::kOutcome}) {
    SCOPED_TRACE(nameOf(step));
    Trial trial(rig, std::string(nameOf(step)));
    rig.start(placeOf(step, Edge::kBefore));
    std::thread client([&]() {
      if (!rig.serving()) return;
      EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace();
      EXPECT_EQ(trial.state(), "succeeded") << trial.trace();
      rig.signal(SIGTERM);
    });
    ASSERT_EQ(rig.await(), Rig::Change::kStopped);
    rig.control().clockShiftMs = rig.control().clockShiftMs - 2 * kHour;
    rig.resume();
    EXPECT_EQ(rig.await(), Rig::Change::kEnded);
    client.join();
    rig.control().clockShiftMs = rig.control().clockShiftMs + kHour;
    EXPECT_EQ(trial.effects(), 1U);
    const auto verdict = rig.verify();
    EXPECT_TRUE(verdict.intact()) << audit::nameOf(verdict.breach);
  }
}

TEST(Faults, AKeyIsNotForgottenWhenTheClockStepsADayAhead) {
  Rig rig;
  Trial trial(rig, "once");
  for (const std::int64_t shift : {std::int64_t{0}, 48 * kHour, -48 * kHour, std::int64_t{0}}) {
    rig.control().clockShiftMs = shift;
    rig.start();
    ASSERT_TRUE(rig.serving()) << rig.log();
    EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace();
    EXPECT_EQ(trial.state(), "succeeded");
    EXPECT_EQ(trial.effects(), 1U) << "at a shift of " << shift;
    rig.signal(SIGTERM);
    EXPECT_EQ(rig.await(), Rig::Change::kEnded);
  }
  EXPECT_TRUE(rig.verify().intact());
}

TEST(Faults, AnApprovalThatExpiredStaysExpiredWhenTheClockStepsBack) {
  Rig rig;
  rig.start();
  ASSERT_TRUE(rig.serving());
  Trial trial(rig, "late");
  ASSERT_TRUE(trial.approve());
  rig.control().clockShiftMs = kHour;
  ASSERT_TRUE(eventually([&]() { return trial.state() == "expired"; })) << trial.state();
  rig.control().clockShiftMs = 0;
  EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace();
  EXPECT_EQ(trial.state(), "expired");
  EXPECT_EQ(trial.effects(), 0U);
}

TEST(Faults, AnApprovalThatIsOverIsRefusedBeforeTheSweepHasComeBy) {
  Rig rig;
  rig.start("begin.before");
  Trial trial(rig, "late");
  std::thread client([&]() {
    if (!rig.serving()) return;
    trial.drive();
    rig.signal(SIGTERM);
  });
  ASSERT_EQ(rig.await(), Rig::Change::kStopped);
  rig.control().clockShiftMs = kHour;
  rig.resume();
  EXPECT_EQ(rig.await(), Rig::Change::kEnded);
  client.join();
  EXPECT_EQ(trial.effects(), 0U) << trial.trace();
}

// Another process holds the database's write lock: first for longer than the broker waits, then it lets go.
TEST(Faults, ABusyDatabaseRefusesAndServesOnOnceItIsFree) {
  Rig rig;
  rig.start();
  ASSERT_TRUE(rig.serving());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((rig.home() + "/state/state.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto refused = rig.post("/v1/terminal/run", R"({"workspace":"demo","shell":"true"})", "busy");
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_EQ(rig.get("/v1/actions").status, 200) << "readers are not held up";
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  Trial trial(rig, "after");
  EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace();
  EXPECT_EQ(trial.state(), "succeeded");
  EXPECT_EQ(trial.effects(), 1U);
  EXPECT_TRUE(rig.verify().intact());
}

}  // namespace
}  // namespace factionos::test
