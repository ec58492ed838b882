// Linked worktrees and the branches that they are on, as git itself sees them: what comes, goes and comes
// back leaves a repository that git calls whole.
#include <filesystem>

#include "git_harness.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;
using Access = GitWorker::Access;

// What git says of the whole of it, and that it can still tidy it up.
void expectWhole(const std::string& folder) {
  const GitRun checked = runIn(folder, {"git", "fsck", "--no-dangling"});
  EXPECT_EQ(checked.status, 0) << checked.output;
  EXPECT_EQ(checked.output, "");
  const GitRun tidied = runIn(folder, {"git", "gc", "-q"});
  EXPECT_EQ(tidied.status, 0) << tidied.output;
  EXPECT_EQ(tidied.output, "");
}

// With a branch `side`, and `wt` ignored.
struct WithSide {
  WithSide() {
    repo.write(".gitignore", "wt\n");
    repo.commit("ignore");
    git(folder, {"branch", "side"});
  }

  Repo repo;
  const std::string& folder = repo.folder();
  GitWorker worker{repo.broker, folder, Access::WRITE};
};

TEST(GitWorktree, WhoseBranchIsGoneDoesNotComeBackHalf) {
  WithSide with;
  ASSERT_EQ(with.worker.change(addTree("wt", "wt", "side")), "");
  ASSERT_EQ(with.worker.change(removeTree("wt")), "");
  const std::string removed = with.worker.lastAction;
  git(with.folder, {"update-ref", "-d", "refs/heads/side"});
  EXPECT_EQ(with.worker.rollback(removed), "state_moved/refs_have_moved_on/1");
  EXPECT_FALSE(World::exists(with.folder + "/.git/worktrees/wt"));
  EXPECT_FALSE(World::exists(with.folder + "/wt"));
  expectWhole(with.folder);
}

TEST(GitWorktree, OfWhichABlobIsGoneLeavesNothingBehind) {
  WithSide with;
  git(with.folder, {"checkout", "-q", "side"});
  with.repo.write("a.txt", "a\n");
  with.repo.write("only.txt", "only here\n");
  with.repo.commit("side");
  const std::string blob = tip(with.folder, "HEAD:only.txt");
  git(with.folder, {"checkout", "-q", "main"});
  fs::remove(with.folder + "/.git/objects/" + blob.substr(0, 2) + "/" + blob.substr(2));
  EXPECT_NE(with.worker.change(addTree("wt", "wt", "side")), "");
  EXPECT_FALSE(World::exists(with.folder + "/.git/worktrees/wt"));
  EXPECT_FALSE(World::exists(with.folder + "/wt"));
}

// Cut off, and its branch gone since: what it made can't be told from anybody's file, and no file goes.
TEST(GitWorktree, ThatWasCutOffAndHasNoBranchAnyMoreLeavesAWholeRepository) {
  WithSide with;
  ASSERT_EQ(with.worker.change(addTree("wt", "wt", "side")), "");
  const std::string action = with.worker.lastAction;
  const std::string kept = with.folder + "/.git/worktrees/wt";
  fs::remove(kept + "/index");
  fs::remove(with.folder + "/.git/refs/factionos/" + action + "/done");
  with.repo.write(".git/worktrees/wt/factionos-new-" + action, "");
  git(with.folder, {"update-ref", "-d", "refs/heads/side"});
  EXPECT_EQ(with.worker.reconcile(action), schema::GitVerdict::FAILED);
  EXPECT_FALSE(World::exists(kept));
  EXPECT_FALSE(World::exists(with.folder + "/wt/.git"));
  EXPECT_TRUE(World::exists(with.folder + "/wt/kept.txt"));
  expectWhole(with.folder);
}

TEST(GitWorktree, ComesBackAsOneThatIsAskedFor) {
  WithSide with;
  ASSERT_EQ(with.worker.change(addTree("wt", "wt", "side")), "");
  ASSERT_EQ(with.worker.change(removeTree("wt")), "");
  const std::string removed = with.worker.lastAction;
  git(with.folder, {"checkout", "-q", "side"});
  EXPECT_EQ(with.worker.rollback(removed), "exists/checked_out_elsewhere");
  with.repo.write(".claude/settings.json", "{}\n");
  with.repo.commit("settings");
  git(with.folder, {"checkout", "-q", "main"});
  EXPECT_EQ(with.worker.rollback(removed), "path_protected/files/1");
  EXPECT_FALSE(World::exists(with.folder + "/wt"));
  git(with.folder, {"branch", "-f", "side", "side^"});
  EXPECT_EQ(with.worker.rollback(removed), "") << "the control";
  EXPECT_EQ(branchNow(with.folder + "/wt"), "side");
  EXPECT_EQ(porcelain(with.folder + "/wt"), std::vector<std::string>());
  expectWhole(with.folder);
}

// Nothing else holds what was committed there on no branch: neither a branch nor, with the worktree, its log.
TEST(GitWorktree, OnNoBranchKeepsItsCommitsWhenItGoes) {
  for (const bool byRollback : {false, true}) {
    WithSide with;
    const std::string tree = with.folder + "/wt";
    ASSERT_EQ(with.worker.change(addTree("wt", "wt", "side")), "");
    const std::string added = with.worker.lastAction;
    git(tree, {"checkout", "-q", "--detach"});
    with.repo.write("wt/kept.txt", "on no branch\n");
    git(tree, {"commit", "-q", "-a", "-m", "on no branch"});
    const std::string commit = tip(tree);
    ASSERT_EQ(byRollback ? with.worker.rollback(added) : with.worker.change(removeTree("wt")), "");
    const std::string removed = with.worker.lastAction;
    git(with.folder, {"gc", "-q", "--prune=now"});
    EXPECT_EQ(with.worker.rollback(removed), "");
    EXPECT_EQ(branchNow(tree), "HEAD");
    EXPECT_EQ(tip(tree), commit);
    EXPECT_EQ(World::read(tree + "/kept.txt"), "on no branch\n");
    EXPECT_EQ(porcelain(tree), std::vector<std::string>());
    expectWhole(with.folder);
  }
}

// Its folder is gone, and the commit with it: nothing refers to what is not there.
TEST(GitWorktree, WhoseCommitIsGoneGoesAndBreaksNothing) {
  WithSide with;
  git(with.folder, {"worktree", "add", "-q", "--detach", "wt"});
  fs::remove_all(with.folder + "/wt");
  with.repo.write(".git/worktrees/wt/HEAD", std::string(40, '1') + "\n");
  ASSERT_EQ(with.worker.change(removeTree("wt")), "");
  expectWhole(with.folder);
  EXPECT_EQ(with.worker.rollback(with.worker.lastAction), "not_found/object_or_ref");
  EXPECT_FALSE(World::exists(with.folder + "/.git/worktrees/wt"));
}

}  // namespace
}  // namespace factionos::test
