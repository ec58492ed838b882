// References beside somebody else: whose lock is met before anything has changed, and what git leaves behind
// of branches that are gone is in nobody's way.
#include <chrono>
#include <filesystem>

#include "git_harness.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;
using Access = GitWorker::Access;
using Change = schema::GitChange::Builder;

void createTopic(Change change) {
  change.initBranchCreate().setBranch("topic");
}

// As long ago as nobody's git takes.
void lock(const Repo& repo, const std::string& name) {
  const std::string file = repo.folder() + "/.git/" + name + ".lock";
  repo.broker.world.write(file, "");
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(2));
}

void unlock(const Repo& repo, const std::string& name) {
  fs::remove(repo.folder() + "/.git/" + name + ".lock");
}

// All that there is of a repository but what nobody refers to.
std::string allOf(const std::string& folder) {
  return git(folder, {"for-each-ref"}) + git(folder, {"status", "--porcelain=2", "--branch"}) +
         git(folder, {"ls-files", "-s"}) + git(folder, {"worktree", "list"}) +
         World::read(folder + "/kept.txt");
}

// Where the lock comes after the preview, and where it is there before it.
void expectNothingBegun(const Repo& repo, GitWorker& worker, const std::string& locked,
                        const GitWorker::Fill& change) {
  const std::string before = allOf(repo.folder());
  ASSERT_EQ(worker.prepare(change), "");
  lock(repo, locked);
  const auto expectRefused = [&](const std::string& denial) {
    EXPECT_EQ(denial.substr(0, 17), "locked/ref_lock/7") << denial << " of " << locked;
    EXPECT_EQ(allOf(repo.folder()), before) << locked;
  };
  expectRefused(worker.run(change));
  expectRefused(worker.prepare(change));
  EXPECT_TRUE(World::exists(repo.folder() + "/.git/" + locked + ".lock")) << "somebody's";
  unlock(repo, locked);
}

struct TwoBranches {
  TwoBranches() {
    repo.write(".gitignore", "wt\n");
    repo.commit("ignore");
    git(folder, {"checkout", "-q", "-b", "side"});
    repo.write("kept.txt", "side\n");
    repo.commit("side");
    git(folder, {"checkout", "-q", "main"});
  }
  Repo repo;
  const std::string& folder = repo.folder();
  GitWorker worker{repo.broker, folder, Access::WRITE};
};

TEST(GitReference, ALockOfSomebodyElseIsMetBeforeAnythingHasChanged) {
  TwoBranches two;
  GitWorker& worker = two.worker;
  expectNothingBegun(two.repo, worker, "HEAD", checkOut("side"));
  ASSERT_EQ(worker.change(checkOut("side")), "") << "the control";
  const auto rollBack = [&worker](const std::string& action) {
    return [action, snapshot = worker.snapshots[action]](Change change) {
      auto rollback = change.initRollback();
      rollback.setActionId(action.c_str());
      rollback.setSnapshot(snapshot.c_str());
    };
  };
  expectNothingBegun(two.repo, worker, "HEAD", rollBack(worker.lastAction));
  expectNothingBegun(two.repo, worker, "refs/heads/new", addTree("wt", "wt", "new"));
  EXPECT_FALSE(World::exists(two.folder + "/wt"));
  ASSERT_EQ(worker.change(addTree("wt", "wt", "new")), "") << "the control";
  expectNothingBegun(two.repo, worker, "refs/heads/new", rollBack(worker.lastAction));
  EXPECT_TRUE(World::exists(two.folder + "/wt/kept.txt"));
  two.repo.write("kept.txt", "more\n");
  ASSERT_EQ(worker.stageAll(), "");
  expectNothingBegun(two.repo, worker, "refs/heads/side",
                     [](Change change) { change.initCommit().setMessage("more"); });
}

// The branch goes behind the worktree, and from both places where it is.
TEST(GitReference, TheLockOfPackedOnesIsMetBeforeAWorktreeGoes) {
  TwoBranches two;
  GitWorker& worker = two.worker;
  ASSERT_EQ(worker.change(addTree("wt", "wt", "new")), "");
  const std::string added = worker.lastAction;
  git(two.folder, {"pack-refs", "--all"});
  lock(two.repo, "packed-refs");
  EXPECT_EQ(worker.rollback(added).substr(0, 17), "locked/ref_lock/7");
  EXPECT_TRUE(World::exists(two.folder + "/wt/kept.txt"));
  unlock(two.repo, "packed-refs");
  EXPECT_EQ(worker.rollback(added), "") << "the control";
  EXPECT_EQ(git(two.folder, {"branch", "--list", "new"}), "");
  EXPECT_FALSE(World::exists(two.folder + "/.git/packed-refs.lock"));
  git(two.folder, {"fsck"});
}

TEST(GitReference, EmptyFoldersOfBranchesThatAreGoneAreInNobodysWay) {
  for (const bool packed : {false, true}) {
    TwoBranches two;
    for (const char* below :
         {"refs/heads/topic/deep/er", "refs/heads/topic/other", "logs/refs/heads/topic/deep"})
      fs::create_directories(two.folder + "/.git/" + below);
    if (packed) {
      two.repo.write(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted \n" + tip(two.folder) +
                                             " refs/heads/topic\n");
      ASSERT_EQ(two.worker.change(checkOut("topic")), "");
      two.repo.write("kept.txt", "more\n");
      ASSERT_EQ(two.worker.stageAll(), "");
      ASSERT_EQ(two.worker.commitAs("more"), "");
      EXPECT_EQ(git(two.folder, {"log", "-1", "--format=%s", "topic"}), "more\n");
    } else {
      ASSERT_EQ(two.worker.change(createTopic), "");
      EXPECT_EQ(tip(two.folder, "topic"), tip(two.folder, "main"));
    }
    EXPECT_TRUE(fs::is_regular_file(two.folder + "/.git/refs/heads/topic"));
    EXPECT_TRUE(fs::is_regular_file(two.folder + "/.git/logs/refs/heads/topic"));
    git(two.folder, {"fsck"});
  }
}

// What lies in one of them is somebody's.
TEST(GitReference, AFolderOfABranchThatIsThereIsInTheWay) {
  TwoBranches two;
  fs::create_directories(two.folder + "/.git/refs/heads/topic/empty");
  git(two.folder, {"branch", "topic/deep/er"});
  EXPECT_EQ(two.worker.prepare(createTopic), "exists/object_or_ref");
  EXPECT_EQ(tip(two.folder, "topic/deep/er"), tip(two.folder, "main"));
  EXPECT_EQ(two.worker.prepare([](Change change) { change.initBranchCreate().setBranch("main/below"); }),
            "exists/object_or_ref");
  EXPECT_EQ(git(two.folder, {"branch", "--list", "topic", "main/*"}), "");
  git(two.folder, {"fsck"});
}

}  // namespace
}  // namespace factionos::test
