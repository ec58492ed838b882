// The family git: the broker or the worker dies at each step of one commit, and in the midst of writing a
// large one. The branch has the old tip or the new, the action says which, nothing is committed twice, and no
// lock of ours stays (P80, C6).
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "process.h"
#include "tests/crash/change.h"
#include "tests/crash/places.h"
#include "tests/crash/trial.h"

namespace factionos::test {
namespace {

using broker::Edge;
using broker::Step;

class Repository {
 public:
  explicit Repository(const Rig& rig) : rig_(rig) {
    run("git init -q -b main && git config user.name Ada && git config user.email ada@example.org && "
        "echo one > f && git add f && git commit -q -m first && echo two > f && git add f");
  }

  std::string run(const std::string& line) const {
    const auto out = rig_.root() + "/printed";
    const std::string command = "cd '" + rig_.workspace() +
                                "' && export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 "
                                "GIT_CONFIG_GLOBAL=/dev/null && (" +
                                line + ") > '" + out + "' 2>&1";
    const int status = std::system(command.c_str());
    auto text = readFile(out);
    EXPECT_EQ(status, 0) << line << text;
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  std::size_t commits() const { return std::stoul(run("git rev-list --count main")); }
  bool isLocked() const { return std::filesystem::exists(rig_.workspace() + "/.git/index.lock"); }
  void expectWhole() const {
    EXPECT_FALSE(isLocked()) << "a lock of ours stayed";
    run("git fsck --strict --no-dangling");
    run("git update-index -q --refresh; git status --porcelain");
    for (const auto& entry : std::filesystem::directory_iterator(rig_.workspace() + "/.git"))
      EXPECT_EQ(entry.path().filename().string().find("factionos"), std::string::npos) << entry.path();
  }

 private:
  const Rig& rig_;
};

Change commitOf(const Rig& rig) {
  return {rig, "/v1/git/commit", R"("message":"second")", "commit"};
}

void expectConsistent(Rig& rig, const Repository& repository, Change& commit) {
  ASSERT_TRUE(rig.serving()) << rig.log();
  const auto found = commit.state();
  EXPECT_NE(found, "executing");
  EXPECT_NE(found, "unknown");
  const auto before = repository.commits();
  if (isOutcome(found)) {
    EXPECT_EQ(before, found == "succeeded" ? 2U : 1U) << found;
  }
  EXPECT_TRUE(commit.drive());
  if (isOutcome(found)) {
    EXPECT_EQ(repository.commits(), before) << "ran again";
  } else {
    EXPECT_EQ(commit.state(), "succeeded");
    EXPECT_EQ(repository.commits(), 2U);
  }
  EXPECT_TRUE(rig.verify().intact());
  repository.expectWhole();
}

class GitCommitAtEveryStep : public testing::TestWithParam<std::string> {};
TEST_P(GitCommitAtEveryStep, P80TheBrokersDeathLeavesOneTipOrTheOtherAndTheActionSaysWhich) {
  Rig rig;
  const Repository repository(rig);
  Change commit = commitOf(rig);
  ASSERT_NO_FATAL_FAILURE(dieAt(rig, GetParam(), [&]() { (void)commit.drive(); }));
  rig.start();
  expectConsistent(rig, repository, commit);
  EXPECT_EQ(rig.stop(), 0);
}

// The rest of the way is every family's, and file_test.cpp's.
std::vector<std::string> gitPlaces() {
  std::vector<std::string> places = {placeOf(Step::kPrepare, Edge::kAfter)};
  for (const auto step : {Step::kBegin, Step::kStart, Step::kOutcome}) {
    for (const auto edge : {Edge::kBefore, Edge::kAfter}) places.push_back(placeOf(step, edge));
  }
  return places;
}
INSTANTIATE_TEST_SUITE_P(Matrix, GitCommitAtEveryStep, testing::ValuesIn(gitPlaces()), placeName);

// Death while the next start asks the repository how the change ended.
class GitInReconciliation : public testing::TestWithParam<std::string> {};
TEST_P(GitInReconciliation, ADeathIsRecoveredFrom) {
  Rig rig;
  const Repository repository(rig);
  Change commit = commitOf(rig);
  ASSERT_NO_FATAL_FAILURE(dieInReconciliation(rig, GetParam(), [&]() { (void)commit.drive(); }));
  rig.start();
  expectConsistent(rig, repository, commit);
  EXPECT_EQ(commit.state(), "succeeded");
  EXPECT_EQ(rig.stop(), 0);
}
INSTANTIATE_TEST_SUITE_P(Matrix, GitInReconciliation,
                         testing::Values("launch_scoped.after", "reconcile.before", "reconcile.after"),
                         placeName);

enum class Dies { kWorker, kBroker };

pid_t workerThatWrites(const Rig& rig) {
  for (const pid_t pid : rig.tree()) {
    const auto line = readFile("/proc/" + std::to_string(pid) + "/cmdline");
    if (line.starts_with(std::string("git\0write", 9))) return pid;
  }
  return 0;
}

// Of many files: while they are taken, objects and index.lock are on disk and the index is not yet changed.
class GitInTheMidst : public testing::TestWithParam<Dies> {};
TEST_P(GitInTheMidst, AKillLeavesTheIndexWholeAndNoLock) {
  Rig rig;
  const Repository repository(rig);
  repository.run("git commit -q -m second && for i in $(seq 1000); do echo $i > file$i; done");
  Change stage(rig, "/v1/git/stage", R"("all":true)", "stage");
  rig.start();
  ASSERT_TRUE(rig.serving()) << rig.log();
  std::thread client([&]() { (void)stage.drive(); });
  EXPECT_TRUE(eventually([&]() { return repository.isLocked(); }));
  if (GetParam() == Dies::kWorker) {
    const pid_t worker = workerThatWrites(rig);
    EXPECT_GT(worker, 0);
    if (worker > 0) ::kill(worker, SIGKILL);
    client.join();
  } else {
    const auto all = rig.tree();
    EXPECT_EQ(rig.kill(), 256 + SIGKILL);
    client.join();
    EXPECT_TRUE(Rig::gone(all));
    rig.start();
    ASSERT_TRUE(rig.serving()) << rig.log();
  }
  const auto state = stage.state();
  ASSERT_TRUE(isOutcome(state)) << state;
  const auto staged = repository.run("git diff --cached --name-only | wc -l");
  EXPECT_EQ(staged, state == "succeeded" ? "1000" : "0") << state;
  repository.expectWhole();
  Change again(rig, "/v1/git/stage", R"("all":true)", "again");
  if (state != "succeeded") {
    EXPECT_TRUE(again.drive());
    EXPECT_EQ(again.state(), "succeeded");
    EXPECT_EQ(repository.run("git diff --cached --name-only | wc -l"), "1000");
  }
  EXPECT_TRUE(rig.verify().intact());
  EXPECT_EQ(rig.stop(), 0);
}
INSTANTIATE_TEST_SUITE_P(Matrix, GitInTheMidst, testing::Values(Dies::kWorker, Dies::kBroker),
                         [](const auto& each) { return each.param == Dies::kWorker ? "Worker" : "Broker"; });

}  // namespace
}  // namespace factionos::test
