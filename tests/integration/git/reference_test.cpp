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

// "alias" is only another name of "side".
TEST(GitReference, HeadOnAnotherNameOfABranchIsOnThatOne) {
  TwoBranches two;
  const std::string& folder = two.folder;
  git(folder, {"branch", "other"});
  git(folder, {"symbolic-ref", "refs/heads/alias", "refs/heads/side"});
  git(folder, {"checkout", "-q", "alias"});
  EXPECT_EQ(two.worker.status(), porcelain(folder));
  const auto branches = two.worker.call(two.worker.repository.branchesRequest());
  for (const auto branch : branches.getBranches().getBranches()) {
    const std::string name = branch.getName().cStr();
    EXPECT_EQ(branch.getCurrent(), name == "side") << name;
    EXPECT_EQ(branch.getCommit().cStr(), tip(folder, name)) << name;
  }
  EXPECT_EQ(two.worker.prepare(checkOut("side")), "nothing_to_do/checkout");
  const std::string before = tip(folder, "side");
  two.repo.write("kept.txt", "more\n");
  ASSERT_EQ(two.worker.stageAll(), "");
  ASSERT_EQ(two.worker.commitAs("more"), "");
  const std::string committed = two.worker.lastAction;
  EXPECT_EQ(tip(folder, "side~1"), before);
  EXPECT_EQ(git(folder, {"symbolic-ref", "refs/heads/alias"}), "refs/heads/side\n");
  EXPECT_EQ(git(folder, {"symbolic-ref", "--no-recurse", "HEAD"}), "refs/heads/alias\n");
  EXPECT_EQ(git(folder, {"reflog", "-1", "--format=%H"}), tip(folder, "side") + "\n");
  EXPECT_EQ(two.worker.status(), porcelain(folder));

  ASSERT_EQ(two.worker.change(checkOut("other")), "");
  const std::string left = two.worker.lastAction;
  EXPECT_EQ(branchNow(folder), "other");
  ASSERT_EQ(two.worker.rollback(left), "") << "back on the other name";
  EXPECT_EQ(git(folder, {"symbolic-ref", "--no-recurse", "HEAD"}), "refs/heads/alias\n");
  EXPECT_EQ(porcelain(folder), std::vector<std::string>());
  ASSERT_EQ(two.worker.rollback(committed), "");
  EXPECT_EQ(tip(folder, "side"), before);
  EXPECT_EQ(git(folder, {"symbolic-ref", "refs/heads/alias"}), "refs/heads/side\n");
  git(folder, {"fsck"});
}

TEST(GitReference, NoOtherNameOfABranchIsPushedTo) {
  TwoBranches two;
  const std::string& outside = two.repo.broker.world.outside;
  git(outside, {"clone", "-q", "--bare", two.folder, "other.git"});
  git(two.folder, {"remote", "add", "origin", outside + "/other.git"});
  const auto pushOf = [](const char* branch) {
    return [branch](Change change) { change.initPush().setBranch(branch); };
  };
  GitWorker worker(two.repo.broker, two.folder, Access::PUSH, {outside});
  git(two.folder, {"branch", "alias", "side"});
  git(outside + "/other.git", {"symbolic-ref", "refs/heads/alias", "refs/heads/main"});
  EXPECT_EQ(worker.prepare(pushOf("alias")), "unavailable/symbolic_branch");
  git(outside + "/other.git", {"symbolic-ref", "-d", "refs/heads/alias"});
  EXPECT_EQ(worker.prepare(pushOf("alias")), "") << "the control";
}

}  // namespace
}  // namespace factionos::test
