// The family file: the broker, the launcher or the worker dies at each step of one change. The file has the
// old content or the new, the action says which, and nothing happens twice (P80, C6).
#include <algorithm>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "process.h"
#include "tests/crash/change.h"
#include "tests/crash/places.h"
#include "tests/crash/trial.h"

namespace factionos::test {
namespace {

using audit::FaultPoint;
using broker::Edge;
using broker::Step;

// One edit that would show if it were made twice.
class Edit {
 public:
  explicit Edit(const Rig& rig)
      : rig_(rig), change_(rig, "/v1/file/edit", R"("path":"f","oldText":"x","newText":"x+")", "edit") {
    writeFile(rig.workspace() + "/f", "x");
  }

  bool drive() { return change_.drive(); }
  std::string state() const { return change_.state(); }
  std::size_t effects() const {
    const auto content = readFile(rig_.workspace() + "/f");
    EXPECT_TRUE(content.starts_with("x")) << content;
    return static_cast<std::size_t>(std::ranges::count(content, '+'));
  }

 private:
  const Rig& rig_;
  Change change_;
};

void expectConsistent(Rig& rig, Edit& edit) {
  ASSERT_TRUE(rig.serving()) << rig.log();
  const auto found = edit.state();
  EXPECT_NE(found, "executing");
  EXPECT_NE(found, "unknown");
  const auto before = edit.effects();
  if (isOutcome(found)) {
    EXPECT_EQ(before, found == "succeeded" ? 1U : 0U) << found;
  }
  EXPECT_TRUE(edit.drive());
  EXPECT_LE(edit.effects(), 1U);
  if (isOutcome(found)) {
    EXPECT_EQ(edit.effects(), before) << "ran again";
  } else {
    EXPECT_EQ(edit.state(), "succeeded");
    EXPECT_EQ(edit.effects(), 1U);
  }
  EXPECT_TRUE(rig.verify().intact());
  for (const auto& entry : std::filesystem::directory_iterator(rig.workspace()))
    EXPECT_EQ(entry.path().filename().string().find(".factionos-"), std::string::npos) << entry.path();
}

class FileChangeAtEveryStep : public testing::TestWithParam<std::string> {};
TEST_P(FileChangeAtEveryStep, P80TheBrokersDeathLeavesOldOrNewAndTheActionSaysWhich) {
  Rig rig;
  Edit edit(rig);
  ASSERT_NO_FATAL_FAILURE(dieAt(rig, GetParam(), [&]() { (void)edit.drive(); }));
  rig.start();
  expectConsistent(rig, edit);
  EXPECT_EQ(rig.stop(), 0);
}

std::vector<std::string> filePlaces() {
  std::vector<std::string> places;
  for (const auto step :
       {Step::kLaunchScoped, Step::kPrepare, Step::kPropose, Step::kBegin, Step::kStart, Step::kOutcome}) {
    for (const auto edge : {Edge::kBefore, Edge::kAfter}) places.push_back(placeOf(step, edge));
  }
  for (const auto point : {FaultPoint::kAfterMutations, FaultPoint::kAfterAuditSync,
                           FaultPoint::kBeforeCommit, FaultPoint::kAfterCommit})
    places.push_back(placeOf(Step::kOutcome, Edge::kBefore) + "/" + placeOf(point));
  return places;
}
INSTANTIATE_TEST_SUITE_P(Matrix, FileChangeAtEveryStep, testing::ValuesIn(filePlaces()), placeName);

// Death while the next start asks the worker how the change ended.
class InReconciliation : public testing::TestWithParam<std::string> {};
TEST_P(InReconciliation, ADeathIsRecoveredFrom) {
  Rig rig;
  Edit edit(rig);
  ASSERT_NO_FATAL_FAILURE(dieInReconciliation(rig, GetParam(), [&]() { (void)edit.drive(); }));
  rig.start();
  expectConsistent(rig, edit);
  EXPECT_EQ(edit.state(), "succeeded");
  EXPECT_EQ(rig.stop(), 0);
}
INSTANTIATE_TEST_SUITE_P(Matrix, InReconciliation,
                         testing::Values("launch_scoped.before", "launch_scoped.after", "reconcile.before",
                                         "reconcile.after"),
                         placeName);

// No content without its record.
TEST(FileRead, ADeathBeforeItsRecordHandsOutNothing) {
  Rig rig;
  writeFile(rig.workspace() + "/f", "content");
  rig.start("read.before");
  Reply reply;
  std::thread client([&]() {
    if (rig.serving()) reply = rig.post("/v1/file/read", R"({"workspace":"demo","path":"f"})", "read-1");
  });
  ASSERT_EQ(rig.await(), Rig::Change::kStopped) << rig.log();
  rig.kill();
  client.join();
  EXPECT_EQ(reply.body.find("content\""), std::string::npos) << reply.body;
  EXPECT_TRUE(rig.verify().intact());
}

}  // namespace
}  // namespace factionos::test
