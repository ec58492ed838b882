// Every durable change and every call of an action's life × every process × SIGKILL. The broker stops itself
// at the named place, so that the kill comes at exactly that moment; nothing sleeps.
#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "process.h"
#include "tests/crash/places.h"
#include "tests/crash/trial.h"

namespace factionos::test {
namespace {

using audit::FaultPoint;
using broker::Edge;
using broker::Step;

std::string uniqueName() {
  static std::atomic<int> counter{0};
  return "trial-" + std::to_string(++counter);
}

// One cell of the matrix: a trial, a place at which the broker stops, and who is killed then. A broker that
// lives on serves the next cell, too.
class Cell {
 public:
  Cell(Rig& rig, std::string place, Victim victim)
      : rig_(rig), place_(std::move(place)), victim_(victim), trial_(rig, uniqueName()) {}

  void run() {
    SCOPED_TRACE(place_ + ", killed: " + nameOf(victim_));
    const bool fresh = begin();
    std::thread client([this, fresh]() { drive(fresh); });
    if (rig_.await() == Rig::Change::kEnded) {
      client.join();
      FAIL() << "never reached;" << trial_.trace() << "\n" << rig_.log();
    }
    stopped_ = true;
    const auto all = rig_.tree();
    const auto victims = rig_.find(victim_);
    for (const auto pid : victims) ::kill(pid, SIGKILL);
    // Where there is no such process, its death changes nothing and the whole trial must succeed.
    exists_ = !victims.empty();
    const bool fatal = exists_ && (victim_ == Victim::kBroker || victim_ == Victim::kLauncher);
    if (victim_ != Victim::kBroker) rig_.resume();
    if (fatal) rig_.runOut();
    client.join();
    fatal ? expectNextLife(all) : expectThisLife();
    const auto verdict = rig_.verify();
    EXPECT_TRUE(verdict.intact()) << audit::nameOf(verdict.breach) << " at " << verdict.sequence;
    EXPECT_LE(trial_.beginnings(), 1U);
    EXPECT_GE(trial_.beginnings(), trial_.effects()) << "an effect that the audit knows nothing of";
    const auto state = trial_.state();
    EXPECT_EQ(trial_.recorded(state), 1U) << state << ", and on record once";
    EXPECT_EQ(rig_.log().find("worker_misbehaved"), std::string::npos) << "killed, and no more";
    if (testing::Test::HasFailure())
      std::fprintf(stderr, "%s\n%s\n", trial_.trace().c_str(), rig_.log().c_str());
  }

 private:
  // Whether a broker was started for it.
  bool begin() {
    // Passed at the start alone.
    if (place_.starts_with(broker::nameOf(Step::kLaunchFront)) && rig_.alive()) {
      EXPECT_EQ(rig_.stop(), 0);
    }
    const bool fresh = !rig_.alive();
    fresh ? rig_.start(place_) : rig_.stopAt(place_);
    return fresh;
  }

  void drive(bool fresh) {
    if (fresh && !rig_.serving()) return;
    end_ = trial_.drive();
    // Nobody else would end a broker that never came to the place, or that leaves its client without an end.
    if (!stopped_ || end_ == Trial::End::kStuck) rig_.signal(SIGKILL);
  }

  // The broker lives on: its client had an end, and nothing of the session is left.
  void expectThisLife() {
    EXPECT_FALSE(rig_.ended()) << rig_.status();
    EXPECT_EQ(end_, Trial::End::kSettled) << trial_.trace();
    const auto state = trial_.state();
    EXPECT_TRUE(isOutcome(state)) << state << trial_.trace();
    EXPECT_TRUE(eventually([this]() {
      return rig_.find(Victim::kSession).empty() && rig_.find(Victim::kKeeper).empty() &&
             rig_.find(Victim::kCommand).empty() && rig_.scratchIsEmpty();
    })) << "something of the session lives on";
    EXPECT_LE(trial_.effects(), 1U);
    const bool needed = exists_ && victim_ != Victim::kFront && victim_ != Victim::kSpare;
    if (state == "succeeded" || !needed) {
      EXPECT_EQ(state, "succeeded") << trial_.trace();
      EXPECT_EQ(trial_.effects(), 1U);
    }
  }

  // The broker is gone, and `all` with it. The next one takes the action up where it stands.
  void expectNextLife(const std::vector<pid_t>& all) {
    EXPECT_TRUE(Rig::gone(all)) << "something of the session lives on";
    EXPECT_EQ(rig_.status(), victim_ == Victim::kBroker ? 256 + SIGKILL : 1);
    const auto before = trial_.effects();
    EXPECT_LE(before, 1U);
    rig_.start();
    ASSERT_TRUE(rig_.serving()) << rig_.log();
    const auto found = trial_.state();
    EXPECT_NE(found, "executing");
    EXPECT_NE(found, "unknown");
    EXPECT_EQ(trial_.drive(), Trial::End::kSettled) << trial_.trace();
    const auto state = trial_.state();
    EXPECT_TRUE(isOutcome(state)) << state << trial_.trace();
    if (isOutcome(found)) {
      EXPECT_EQ(state, found);
      EXPECT_EQ(trial_.effects(), before) << "ran again";
    } else {
      EXPECT_EQ(before, 0U) << "an effect that the state knows nothing of";
      EXPECT_EQ(state, "succeeded") << "the approval was lost" << trial_.trace();
      EXPECT_EQ(trial_.effects(), 1U);
    }
  }

  Rig& rig_;
  std::string place_;
  Victim victim_;
  Trial trial_;
  Trial::End end_ = Trial::End::kNobody;
  bool exists_ = false;
  std::atomic<bool> stopped_{false};
};

// The cells of one place, and the orderly end of the broker that outlived the last of them.
template <typename Victims>
void runAll(const std::string& place, const Victims& victims) {
  Rig rig;
  for (const auto victim : victims) Cell(rig, place, victim).run();
  const auto all = rig.tree();
  EXPECT_EQ(rig.stop(), 0) << rig.log();
  EXPECT_TRUE(Rig::gone(all));
  EXPECT_TRUE(rig.verify().intact());
}

std::vector<std::string> stepPlaces() {
  std::vector<std::string> places;
  const auto both = [&places](const std::string& before, Step step) {
    for (const auto edge : {Edge::kBefore, Edge::kAfter}) places.push_back(before + placeOf(step, edge));
  };
  // In the order in which one action passes them.
  for (const auto step : {Step::kLaunchFront, Step::kLaunchSession, Step::kPrepare, Step::kPropose,
                          Step::kDecide, Step::kKeyLookUp})
    both("", step);
  // The same command is prepared again when it is to run.
  for (const auto step : {Step::kLaunchSession, Step::kPrepare}) both("decide.after/", step);
  for (const auto step : {Step::kBegin, Step::kStart, Step::kLaunchPty, Step::kAttach, Step::kReply,
                          Step::kResize, Step::kSignal, Step::kInput, Step::kExited, Step::kOutcome})
    both("", step);
  return places;
}

std::vector<std::string> writePlaces() {
  std::vector<std::string> places;
  const auto each = [&places](Step step, std::initializer_list<FaultPoint> points) {
    for (const auto point : points) places.push_back(placeOf(step, Edge::kBefore) + "/" + placeOf(point));
  };
  for (const auto step : {Step::kPropose, Step::kDecide, Step::kBegin, Step::kOutcome})
    each(step, {FaultPoint::kBeforeBegin, FaultPoint::kAfterMutations, FaultPoint::kBeforeAuditWrite,
                FaultPoint::kAfterAuditWrite, FaultPoint::kAfterAuditSync, FaultPoint::kAfterHeadWrite,
                FaultPoint::kAfterHeadSync, FaultPoint::kBeforeCommit, FaultPoint::kAfterCommit});
  // Changes without a record.
  each(Step::kReply, {FaultPoint::kBeforeBegin, FaultPoint::kAfterMutations, FaultPoint::kBeforeCommit,
                      FaultPoint::kAfterCommit});
  return places;
}

class AtEveryStep : public testing::TestWithParam<std::string> {};
TEST_P(AtEveryStep, WhoeverIsKilledTheEffectIsNeverTwiceAndNothingIsLost) {
  runAll(GetParam(), kVictims);
}
INSTANTIATE_TEST_SUITE_P(Matrix, AtEveryStep, testing::ValuesIn(stepPlaces()), placeName);

class AtEveryWrite : public testing::TestWithParam<std::string> {};
TEST_P(AtEveryWrite, TheBrokersDeathLeavesStateAndAuditThatAgree) {
  runAll(GetParam(), std::array{Victim::kBroker, Victim::kLauncher});
}
INSTANTIATE_TEST_SUITE_P(Matrix, AtEveryWrite, testing::ValuesIn(writePlaces()), placeName);

// Death while the next start mends what the last death left.
class InRecovery : public testing::TestWithParam<std::string> {};
TEST_P(InRecovery, ADeathInRecoveryIsRecoveredFrom) {
  Rig rig;
  for (const auto victim : {Victim::kBroker, Victim::kLauncher}) {
    SCOPED_TRACE(nameOf(victim));
    Trial trial(rig, uniqueName());
    const bool fresh = !rig.alive();
    fresh ? rig.start("start.after") : rig.stopAt("start.after");
    std::thread client([&]() {
      if (!fresh || rig.serving()) trial.drive();
    });
    ASSERT_EQ(rig.await(), Rig::Change::kStopped);
    auto all = rig.tree();
    EXPECT_EQ(rig.kill(), 256 + SIGKILL);
    client.join();
    EXPECT_TRUE(Rig::gone(all));
    const auto before = trial.effects();

    rig.start(GetParam());
    ASSERT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
    all = rig.tree();
    for (const auto pid : rig.find(victim)) ::kill(pid, SIGKILL);
    if (victim != Victim::kBroker) rig.resume();
    EXPECT_EQ(rig.await(), Rig::Change::kEnded);
    EXPECT_TRUE(Rig::gone(all));

    rig.start();
    ASSERT_TRUE(rig.serving()) << rig.log();
    EXPECT_EQ(trial.state(), "failed");
    EXPECT_EQ(trial.failure(), "lost_in_crash");
    EXPECT_EQ(trial.drive(), Trial::End::kSettled) << trial.trace();
    EXPECT_EQ(trial.effects(), before);
    EXPECT_EQ(trial.beginnings(), 1U);
    EXPECT_TRUE(rig.verify().intact());
  }
  EXPECT_EQ(rig.stop(), 0);
}

std::vector<std::string> recoveryPlaces() {
  std::vector<std::string> places{"raise_epoch.before", "raise_epoch.after", "recover.before",
                                  "recover.after"};
  for (const auto& row : kWritePlaces) {
    // The seal of the new epoch passes the audit's own; the batches of the start pass the others.
    const bool roll = row.point >= FaultPoint::kAfterNextKeyWrite;
    places.push_back(roll ? placeOf(row.point) : "recover.before/" + placeOf(row.point));
  }
  return places;
}
INSTANTIATE_TEST_SUITE_P(Matrix, InRecovery, testing::ValuesIn(recoveryPlaces()), placeName);

}  // namespace
}  // namespace factionos::test
