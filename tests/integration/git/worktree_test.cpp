// Linked worktrees and the branches that they are on, as git itself sees them: what comes, goes and comes
// back leaves a repository that git calls whole.
#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>

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
  WithSide with;
  const std::string tree = with.folder + "/wt";
  ASSERT_EQ(with.worker.change(addTree("wt", "wt", "side")), "");
  const std::string added = with.worker.lastAction;
  git(tree, {"checkout", "-q", "--detach"});
  with.repo.write("wt/kept.txt", "on no branch\n");
  git(tree, {"commit", "-q", "-a", "-m", "on no branch"});
  const std::string commit = tip(tree);
  EXPECT_EQ(with.worker.rollback(added), "state_moved/refs_have_moved_on/1") << "it is not what was made";
  ASSERT_EQ(with.worker.change(removeTree("wt")), "");
  const std::string removed = with.worker.lastAction;
  git(with.folder, {"gc", "-q", "--prune=now"});
  EXPECT_EQ(with.worker.rollback(removed), "");
  EXPECT_EQ(branchNow(tree), "HEAD");
  EXPECT_EQ(tip(tree), commit);
  EXPECT_EQ(World::read(tree + "/kept.txt"), "on no branch\n");
  EXPECT_EQ(porcelain(tree), std::vector<std::string>());
  expectWhole(with.folder);
}

TEST(GitWorktree, ThatWasMovedSinceKeepsItsBranch) {
  WithSide with;
  ASSERT_EQ(with.worker.change(addTree("wt", "wt", "new")), "");
  const std::string added = with.worker.lastAction;
  git(with.folder, {"worktree", "move", "wt", "moved"});
  EXPECT_EQ(with.worker.rollback(added), "exists/checked_out_elsewhere");
  EXPECT_EQ(tip(with.folder + "/moved"), tip(with.folder));
  git(with.folder, {"worktree", "move", "moved", "wt"});
  EXPECT_EQ(with.worker.rollback(added), "") << "the control";
  expectWhole(with.folder);
}

TEST(GitWorktree, OfTheSameNameThatSomebodyMadeSinceStays) {
  WithSide with;
  ASSERT_EQ(with.worker.change(addTree("wt", "wt", "side")), "");
  const std::string added = with.worker.lastAction;
  git(with.folder, {"worktree", "remove", "wt"});
  git(with.folder, {"worktree", "add", "-q", "-b", "mine", "wt"});
  EXPECT_EQ(with.worker.rollback(added), "state_moved/refs_have_moved_on/1");
  EXPECT_EQ(branchNow(with.folder + "/wt"), "mine");
}

// As by git: two entries would name one tree, and the pruning of one would be that of the other.
TEST(GitWorktree, WhoseFolderIsGoneKeepsItsPlace) {
  WithSide with;
  git(with.folder, {"worktree", "add", "-q", "-b", "old", "wt"});
  fs::rename(with.folder + "/wt", with.repo.broker.world.outside + "/away");
  ASSERT_NE(runIn(with.folder, {"git", "worktree", "add", "wt", "side"}).status, 0) << "the control";
  EXPECT_EQ(with.worker.change(addTree("other", "wt", "side")), "exists/worktree");
  git(with.folder, {"worktree", "prune"});
  ASSERT_EQ(with.worker.change(addTree("other", "wt", "side")), "") << "the control";
  ASSERT_EQ(with.worker.change(removeTree("other")), "");
  const std::string removed = with.worker.lastAction;
  git(with.folder, {"worktree", "add", "-q", "wt", "old"});
  fs::remove_all(with.folder + "/wt");
  EXPECT_EQ(with.worker.rollback(removed), "exists/worktree");
  git(with.folder, {"worktree", "prune"});
  EXPECT_EQ(with.worker.rollback(removed), "") << "the control";
  EXPECT_EQ(git(with.folder, {"worktree", "prune", "-v", "-n"}), "");
  expectWhole(with.folder);
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

// In a folder that is ignored, where git itself takes it along.
TEST(GitWorktree, WithAnotherOneInItStays) {
  WithSide with;
  git(with.folder, {"worktree", "add", "-q", "wt", "side"});
  with.repo.write(".git/info/exclude", "build\n");
  const std::string inner = with.folder + "/wt/build/inner";
  git(with.folder, {"worktree", "add", "-q", "-b", "inner", inner});
  with.repo.write("wt/build/inner/mine.txt", "in no commit\n");
  EXPECT_EQ(porcelain(with.folder + "/wt"), std::vector<std::string>()) << "the control";
  EXPECT_EQ(with.worker.change(removeTree("wt")), "not_clean/nested_worktree");
  chmod((with.folder + "/wt/build").c_str(), 0);
  EXPECT_EQ(with.worker.change(removeTree("wt")), "not_clean/nested_worktree") << "it can't be looked into";
  chmod((with.folder + "/wt/build").c_str(), 0755);
  EXPECT_EQ(World::read(inner + "/mine.txt"), "in no commit\n");
  git(with.folder, {"worktree", "remove", "--force", "inner"});
  EXPECT_EQ(with.worker.change(removeTree("wt")), "") << "the control";
  expectWhole(with.folder);
}

TEST(GitWorktree, WithARepositoryInItStays) {
  for (const bool bare : {false, true}) {
    WithSide with;
    with.repo.write(".git/info/exclude", "build\n");
    ASSERT_EQ(with.worker.change(addTree("wt", "wt", "side")), "");
    const std::string added = with.worker.lastAction;
    const std::string inner = with.folder + "/wt/build/deep/inner";
    git(with.folder, {"clone", "-q", bare ? "--bare" : "--no-bare", with.folder, inner});
    EXPECT_EQ(porcelain(with.folder + "/wt"), std::vector<std::string>()) << "the control";
    EXPECT_EQ(with.worker.change(removeTree("wt")), "not_clean/nested_repository/1") << bare;
    EXPECT_EQ(with.worker.rollback(added), "not_clean/nested_repository/1") << bare;
    git(inner, {"fsck"});
    fs::remove_all(inner);
    EXPECT_EQ(with.worker.change(removeTree("wt")), "") << "the control";
  }
}

// All that is tracked beside it is unchanged.
TEST(GitWorktree, WithARepositoryInATrackedFolderStays) {
  WithSide with;
  git(with.folder, {"worktree", "add", "-q", "wt", "side"});
  git(with.folder, {"init", "-q", with.folder + "/wt/folder"});
  EXPECT_EQ(with.worker.change(removeTree("wt")), "not_clean/nested_repository/1");
  EXPECT_TRUE(World::exists(with.folder + "/wt/folder/.git/HEAD"));
  fs::remove_all(with.folder + "/wt/folder/.git");
  EXPECT_EQ(with.worker.change(removeTree("wt")), "") << "the control";
}

// A bare one is no `.git`, and what is tracked is in a commit: only the control of the others.
TEST(GitWorktree, ThatTracksFilesNamedAsARepositorysGoes) {
  WithSide with;
  git(with.folder, {"checkout", "-q", "side"});
  for (const char* name : {"HEAD", "objects/keep", "refs/keep"})
    with.repo.write("fixture.git/" + std::string(name), "kept\n");
  with.repo.commit("fixture");
  git(with.folder, {"checkout", "-q", "main"});
  git(with.folder, {"worktree", "add", "-q", "wt", "side"});
  EXPECT_EQ(with.worker.change(removeTree("wt")), "");
}

// The repository lies in a worktree of its own, which lies in another one.
TEST(GitWorktree, WithTheRepositoryItselfInItStays) {
  Repo repo;
  const std::string& folder = repo.folder();
  const std::string bare = repo.broker.world.outside + "/bare";
  git(folder, {"clone", "-q", "--bare", folder, bare});
  fs::remove_all(folder + "/.git");
  fs::remove(folder + "/kept.txt");
  fs::remove_all(folder + "/folder");
  git(bare, {"worktree", "add", "-q", "-b", "outer", folder});
  git(bare, {"worktree", "add", "-q", "-b", "inner", folder + "/wt"});
  const std::string moved = folder + "/wt/store";
  fs::rename(bare, moved);
  repo.write("wt/store/info/exclude", "store\nwt\n");
  git(moved, {"worktree", "repair", folder, folder + "/wt"});
  GitWorker worker(repo.broker, folder, Access::WRITE);
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.change(removeTree("wt")), "not_clean/nested_worktree");
  EXPECT_TRUE(World::exists(moved + "/HEAD"));
}

// ---- Whose a branch is.

struct Underway {
  const char* name;
  std::vector<std::string> begin;  // in a worktree that is on `side`
};
const std::vector<Underway> kUnderway = {
    {"rebase", {"-c", "sequence.editor=sed -i 1ibreak", "rebase", "-q", "-i", "--root"}},
    {"rebase-apply", {"rebase", "-q", "--apply", "main"}},
    {"bisect", {"bisect", "start", "side", "side~2"}}};

// It is on none meanwhile, and comes back to it.
TEST(GitWorktree, ABranchThatIsUnderRebaseOrBisectionElsewhereIsInUse) {
  for (const Underway& each : kUnderway) {
    WithSide with;
    GitWorker& worker = with.worker;
    ASSERT_EQ(worker.change([](auto change) { change.initBranchCreate().setBranch("topic"); }), "");
    const std::string created = worker.lastAction;
    git(with.folder, {"worktree", "add", "-q", "wt", "side"});
    for (const char* text : {"1\n", "2\n", "3\n"}) {
      with.repo.write("wt/kept.txt", text);
      git(with.folder + "/wt", {"commit", "-q", "-a", "-m", text});
    }
    with.repo.write("kept.txt", "in conflict\n");
    with.repo.commit("main");
    std::vector<std::string> begin = each.begin;
    begin.insert(begin.begin(), "git");
    runIn(with.folder + "/wt", begin);
    ASSERT_EQ(branchNow(with.folder + "/wt"), "HEAD") << "the control";
    ASSERT_NE(runIn(with.folder, {"git", "checkout", "-q", "side"}).status, 0) << "the control";
    EXPECT_EQ(worker.change(checkOut("side")), "exists/checked_out_elsewhere") << each.name;
    EXPECT_EQ(worker.change(addTree("other", "other", "side")), "exists/checked_out_elsewhere") << each.name;
    EXPECT_EQ(worker.change(checkOut("topic")), "") << "the control";
    EXPECT_EQ(worker.rollback(worker.lastAction), "") << "the control";
    EXPECT_EQ(worker.rollback(created), "") << "the control";
  }
}

TEST(GitWorktree, ABranchUnderRebaseElsewhereIsNotUndone) {
  WithSide with;
  GitWorker& worker = with.worker;
  ASSERT_EQ(worker.change([](auto change) { change.initBranchCreate().setBranch("topic"); }), "");
  const std::string created = worker.lastAction;
  git(with.folder, {"worktree", "add", "-q", "wt", "topic"});
  git(with.folder + "/wt", {"-c", "sequence.editor=sed -i 1ibreak", "rebase", "-q", "-i", "--root"});
  EXPECT_EQ(worker.rollback(created), "exists/checked_out_elsewhere");
  git(with.folder + "/wt", {"rebase", "--continue"});
  EXPECT_EQ(branchNow(with.folder + "/wt"), "topic");
}

// What is committed on the one comes to be on the other.
TEST(GitWorktree, ABranchThatAnotherNameLeadsToIsInUse) {
  WithSide with;
  git(with.folder, {"symbolic-ref", "refs/heads/alias", "refs/heads/side"});
  git(with.folder, {"worktree", "add", "-q", "wt", "alias"});
  ASSERT_NE(runIn(with.folder, {"git", "checkout", "-q", "side"}).status, 0) << "the control";
  EXPECT_EQ(with.worker.change(checkOut("side")), "exists/checked_out_elsewhere");
  git(with.folder, {"worktree", "remove", "wt"});
  EXPECT_EQ(with.worker.change(checkOut("side")), "") << "the control";
}

TEST(GitWorktree, OfABranchNamedHeadIsNotMade) {
  WithSide with;
  EXPECT_EQ(with.worker.change(addTree("wt", "wt", "HEAD")), "invalid/branch");
  EXPECT_EQ(with.worker.change(addTree("HEAD", "wt")), "invalid/branch");
  EXPECT_EQ(with.worker.change(addTree("HEAD", "wt", "side")), "") << "the control";
  expectWhole(with.folder);
}

// With rebase.updateRefs it moves branches that nobody is on; git writes them down in threes.
TEST(GitWorktree, ABranchThatARebaseElsewhereWillMoveIsInUse) {
  WithSide with;
  git(with.folder, {"worktree", "add", "-q", "--detach", "wt"});
  const std::string id = tip(with.folder);
  with.repo.write(".git/worktrees/wt/rebase-merge/update-refs", "refs/heads/side\n" + id + "\n" + id + "\n");
  EXPECT_EQ(with.worker.change(checkOut("side")), "exists/checked_out_elsewhere");
  fs::remove_all(with.folder + "/.git/worktrees/wt/rebase-merge");
  EXPECT_EQ(with.worker.change(checkOut("side")), "") << "the control";
}

TEST(GitWorktree, ACommitIsNotUndoneUnderAnotherTree) {
  WithSide with;
  git(with.folder, {"checkout", "-q", "side"});
  with.repo.write("kept.txt", "work\n");
  ASSERT_EQ(with.worker.stageAll(), "");
  ASSERT_EQ(with.worker.commitAs("work"), "");
  const std::string action = with.worker.lastAction;
  git(with.folder, {"checkout", "-q", "main"});
  git(with.folder, {"worktree", "add", "-q", "wt", "side"});
  EXPECT_EQ(with.worker.rollback(action), "exists/checked_out_elsewhere");
  EXPECT_EQ(porcelain(with.folder + "/wt"), std::vector<std::string>());
  git(with.folder, {"worktree", "remove", "wt"});
  EXPECT_EQ(with.worker.rollback(action), "") << "the control";
  EXPECT_EQ(tip(with.folder, "side"), tip(with.folder, "main"));
}

// Such as one on a disk that is not there now.
TEST(GitWorktree, ABranchOfOneThatIsLockedAndNotThereIsInUse) {
  WithSide with;
  git(with.folder, {"worktree", "add", "-q", "wt", "side"});
  git(with.folder, {"worktree", "lock", "wt"});
  fs::rename(with.folder + "/wt", with.repo.broker.world.outside + "/away");
  EXPECT_EQ(with.worker.change(checkOut("side")), "exists/checked_out_elsewhere");
  EXPECT_EQ(with.worker.change(addTree("other", "other", "side")), "exists/checked_out_elsewhere");
  git(with.folder, {"worktree", "unlock", "wt"});
  EXPECT_EQ(with.worker.change(checkOut("side")), "") << "the control";
}

// It has a HEAD, and nobody is on it.
TEST(GitWorktree, ABareRepositoryHasNoMainOne) {
  for (const bool own : {false, true}) {
    Repo repo;
    const std::string& folder = repo.folder();
    const std::string bare = repo.broker.world.outside + "/bare";
    git(folder, {"branch", "side"});
    git(repo.broker.world.outside, {"clone", "-q", "--bare", folder, bare});
    if (own) {
      git(bare, {"config", "extensions.worktreeConfig", "true"});
      git(bare, {"config", "--unset", "core.bare"});
      git(bare, {"config", "--file", bare + "/config.worktree", "core.bare", "true"});
    }
    fs::remove_all(folder);
    git(bare, {"worktree", "add", "-q", folder, "side"});
    GitWorker worker(repo.broker, folder, Access::WRITE, {bare});
    ASSERT_EQ(worker.denial, "");
    auto request = worker.repository.worktreesRequest();
    const auto response = worker.call(request);
    ASSERT_EQ(response.getWorktrees().size(), 1U);
    EXPECT_FALSE(response.getWorktrees()[0].getMain());
    EXPECT_EQ(worker.change(checkOut("main")), "") << own;
    EXPECT_EQ(branchNow(folder), "main");
    EXPECT_EQ(worker.rollback(worker.lastAction), "") << own;
  }
}

}  // namespace
}  // namespace factionos::test
