// What a command that may write into the workspace can prepare, so that a change which somebody else asks
// for, and may have approved, does something else.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

using Access = GitWorker::Access;
using Change = schema::GitChange::Builder;

auto createBranch(const std::string& name) {
  return [=](Change change) { change.initBranchCreate().setBranch(name.c_str()); };
}

void branchWith(const Repo& repo, const std::string& branch, const std::string& path,
                const std::string& content) {
  git(repo.folder(), {"checkout", "-q", "-b", branch});
  repo.write(path, content);
  git(repo.folder(), {"add", "-A", "-f"});
  git(repo.folder(), {"commit", "-q", "-m", branch});
  git(repo.folder(), {"checkout", "-q", "main"});
}

TEST(GitAttack, AWorktreeIsRemovedOnlyWhereTheTwoNameEachOther) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(addTree("side", "side")), "");
  repo.write("side/mine.txt", "in no commit\n");
  std::filesystem::rename(repo.folder() + "/side/.git", repo.folder() + "/kept.git");
  EXPECT_EQ(worker.change(removeTree("side")), "not_this_worktree/directory");
  EXPECT_TRUE(World::exists(repo.folder() + "/side/mine.txt"));
  // Another repository at its place.
  std::filesystem::remove_all(repo.folder() + "/side");
  git(repo.folder(), {"init", "-q", "side"});
  repo.write("side/mine.txt", "in no commit\n");
  EXPECT_EQ(worker.change(removeTree("side")), "not_this_worktree/directory");
  // Its files say that it is somewhere else.
  repo.write("src/mine.txt", "in no commit\n");
  const std::string link = repo.folder() + "/.git/worktrees/side/gitdir";
  repo.broker.world.write(link, repo.folder() + "/src/.git\n");
  EXPECT_EQ(worker.change(removeTree("side")), "not_this_worktree/directory");
  EXPECT_TRUE(World::exists(repo.folder() + "/src/mine.txt"));
  ASSERT_EQ(worker.change(addTree("hooks", "trees/hooks")), "");
  repo.broker.world.write(repo.folder() + "/.git/worktrees/hooks/gitdir",
                          repo.folder() + "/.git/hooks/.git\n");
  EXPECT_EQ(worker.change(removeTree("hooks")), "scope_violation/git_directory");
  EXPECT_TRUE(World::exists(repo.folder() + "/.git/hooks"));
  EXPECT_TRUE(World::exists(repo.folder() + "/side/mine.txt"));
}

TEST(GitAttack, WhatWasMadeSinceIsNotOverwrittenByUndoing) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(addTree("side", "side")), "");
  ASSERT_EQ(worker.change(removeTree("side")), "");
  repo.write("side/kept.txt", "mine\n");
  EXPECT_EQ(worker.rollback(worker.lastAction), "exists/directory");
  EXPECT_EQ(World::read(repo.folder() + "/side/kept.txt"), "mine\n");
}

// An action that died before it came to its worktree, and somebody else who is making one of that name.
TEST(GitAttack, AHalfMadeWorktreeGoesWithItsActionAndNobodyElses) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(addTree("side", "side")), "");
  const std::string action = worker.lastAction;
  git(repo.folder(), {"worktree", "remove", "side"});
  std::filesystem::remove(repo.folder() + "/.git/refs/factionos/" + action + "/done");
  std::filesystem::create_directory(repo.folder() + "/side");
  worker.reconcile(action);
  EXPECT_TRUE(World::exists(repo.folder() + "/side")) << "somebody's, and empty";
  const std::string kept = ".git/worktrees/side";
  const std::vector<std::pair<std::string, std::string>> files = {
      {kept + "/locked", "initializing"},
      {kept + "/gitdir", repo.folder() + "/side/.git\n"},
      {kept + "/commondir", "../..\n"},
      {kept + "/HEAD", "ref: refs/heads/side\n"},
      {"side/.git", "gitdir: " + repo.folder() + "/" + kept + "\n"},
      {"side/kept.txt", World::read(repo.folder() + "/kept.txt")}};
  for (const auto& [path, content] : files) repo.write(path, content);
  worker.reconcile(action);
  for (const auto& [path, content] : files) EXPECT_EQ(World::read(repo.folder() + "/" + path), content);
  repo.write("side/.git", "");
  worker.reconcile(action);
  EXPECT_TRUE(World::exists(repo.folder() + "/side/.git")) << "anybody's";
  // The control: it is the action's own.
  repo.write(kept + "/factionos-new-" + action, "");
  worker.reconcile(action);
  EXPECT_FALSE(World::exists(repo.folder() + "/side"));
  EXPECT_FALSE(World::exists(repo.folder() + "/.git/worktrees/side"));
}

// A worktree's removal that another action began and was cut off in.
struct HalfRemoved {
  explicit HalfRemoved(const Repo& repo) : folder(repo.folder()) {
    git(folder, {"worktree", "add", "-q", "side"});
    std::filesystem::rename(folder + "/side", folder + "/" + aside);
    std::filesystem::remove(folder + "/" + aside + "/.git");
    std::filesystem::remove(folder + "/" + aside + "/kept.txt");
    struct stat status {};
    EXPECT_EQ(stat((folder + "/" + aside).c_str(), &status), 0);
    repo.write(mark, std::to_string(status.st_dev) + "." + std::to_string(status.st_ino) + " cleared");
  }
  std::string folder;
  std::string action = "act_00000000000000000000000077";
  std::string aside = ".factionos-" + action + "-gone";
  std::string mark = ".git/worktrees/side/factionos-gone-" + action;
};

TEST(GitAttack, ARemovalThatWasCutOffIsFinishedByTheNext) {
  Repo repo;
  const HalfRemoved half(repo);
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(removeTree("side")), "");
  EXPECT_FALSE(World::exists(repo.folder() + "/" + half.aside));
  EXPECT_FALSE(World::exists(repo.folder() + "/.git/worktrees/side"));
  EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>());
  EXPECT_EQ(worker.change(removeTree("side")), "not_found/worktree");
}

TEST(GitAttack, AMarkOfARemovalTakesNothingButTheDirectoryThatItNames) {
  Repo repo;
  const HalfRemoved half(repo);
  std::filesystem::rename(repo.folder() + "/" + half.aside, repo.folder() + "/elsewhere");
  repo.write(half.aside + "/mine.txt", "mine\n");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(removeTree("side")), "");
  EXPECT_EQ(World::read(repo.folder() + "/" + half.aside + "/mine.txt"), "mine\n");
  EXPECT_TRUE(World::exists(repo.folder() + "/elsewhere/folder/inner.txt"));
}

// The same of what a reconciliation finishes.
TEST(GitAttack, AReconciliationRemovesOnlyWhatItsActionHasBegunToRemove) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(addTree("side", "side")), "");
  ASSERT_EQ(worker.change(removeTree("side")), "");
  const std::string action = worker.lastAction;
  const std::string aside = ".factionos-" + action + "-gone";
  const std::string mark = ".git/worktrees/side/factionos-gone-" + action;
  std::filesystem::remove(repo.folder() + "/.git/refs/factionos/" + action + "/done");
  git(repo.folder(), {"worktree", "add", "-q", "side", "side"});
  std::filesystem::rename(repo.folder() + "/side", repo.folder() + "/moved");
  worker.reconcile(action);
  EXPECT_TRUE(World::exists(repo.folder() + "/.git/worktrees/side/HEAD"))
      << "it has not begun to remove this one";
  std::filesystem::rename(repo.folder() + "/moved", repo.folder() + "/side");
  repo.write(aside + "/mine.txt", "mine\n");
  const auto everythingIsThere = [&]() {
    EXPECT_EQ(worker.reconcile(action), schema::GitVerdict::FAILED);
    EXPECT_EQ(World::read(repo.folder() + "/" + aside + "/mine.txt"), "mine\n");
    EXPECT_EQ(porcelain(repo.folder() + "/side"), std::vector<std::string>());
  };
  everythingIsThere();  // somebody has made it anew: no mark
  repo.write(mark, "0.0");
  everythingIsThere();
  repo.write(mark, "-");  // there was none
  std::filesystem::remove_all(repo.folder() + "/" + aside);
  EXPECT_EQ(worker.reconcile(action), schema::GitVerdict::FAILED);
  EXPECT_FALSE(World::exists(repo.folder() + "/" + mark)) << "it has not begun";
  EXPECT_EQ(porcelain(repo.folder() + "/side"), std::vector<std::string>());
  // The control.
  std::filesystem::rename(repo.folder() + "/side", repo.folder() + "/" + aside);
  struct stat status {};
  ASSERT_EQ(stat((repo.folder() + "/" + aside).c_str(), &status), 0);
  const std::string named = std::to_string(status.st_dev) + "." + std::to_string(status.st_ino);
  repo.write(mark, named);
  EXPECT_EQ(worker.reconcile(action), schema::GitVerdict::FAILED);
  EXPECT_EQ(porcelain(repo.folder() + "/side"), std::vector<std::string>()) << "it had not begun to go";
  EXPECT_FALSE(World::exists(repo.folder() + "/" + mark));
  std::filesystem::rename(repo.folder() + "/side", repo.folder() + "/" + aside);
  repo.write(mark, named + " cleared");
  EXPECT_EQ(worker.reconcile(action), schema::GitVerdict::SUCCEEDED);
  EXPECT_FALSE(World::exists(repo.folder() + "/" + aside));
  EXPECT_FALSE(World::exists(repo.folder() + "/.git/worktrees/side"));
}

// A removal that was cut off behind its mark, of a worktree that its user goes on with.
struct MarkedOnly {
  explicit MarkedOnly(const std::string& directory) : tree(repo.folder() + "/" + directory) {
    EXPECT_EQ(worker.change(addTree("side", directory)), "");
    EXPECT_EQ(worker.change(removeTree("side")), "");
    action = worker.lastAction;
    std::filesystem::remove(repo.folder() + "/.git/refs/factionos/" + action + "/done");
    git(repo.folder(), {"worktree", "add", "-q", directory, "side"});
    struct stat status {};
    EXPECT_EQ(stat(tree.c_str(), &status), 0);
    repo.write(mark(), std::to_string(status.st_dev) + "." + std::to_string(status.st_ino));
    repo.write(directory + "/new.txt", "staged\n");
    git(tree, {"add", "new.txt"});
  }
  [[nodiscard]] std::string mark() const { return ".git/worktrees/side/factionos-gone-" + action; }
  [[nodiscard]] std::string aside() const { return repo.folder() + "/.factionos-" + action + "-gone"; }
  void mustLive(const std::string& folder) {
    EXPECT_NE(worker.reconcile(action), schema::GitVerdict::SUCCEEDED);
    EXPECT_EQ(porcelain(folder), std::vector<std::string>{"A. new.txt"});
    EXPECT_EQ(World::read(folder + "/new.txt"), "staged\n");
    EXPECT_FALSE(World::exists(repo.folder() + "/" + mark()));
  }

  Repo repo;
  GitWorker worker{repo.broker, repo.folder(), Access::WRITE};
  std::string tree;
  std::string action;
};

TEST(GitAttack, AWorktreeThatMovedAfterTheMarkOfItsRemovalStays) {
  MarkedOnly half("side");
  git(half.repo.folder(), {"worktree", "move", "side", "moved"});
  half.mustLive(half.repo.folder() + "/moved");
}

// Nothing of the repository's own tells of that.
TEST(GitAttack, AWorktreeThatWasMovedByHandAfterTheMarkOfItsRemovalStays) {
  for (const bool apart : {false, true}) {
    MarkedOnly half("side");
    const std::string moved = half.repo.folder() + "/moved";
    if (apart) {  // when the removal had given it its name, and nothing of it was gone
      std::filesystem::rename(half.tree, half.aside());
      std::filesystem::rename(half.aside(), moved);
    } else {
      std::filesystem::rename(half.tree, moved);
    }
    half.mustLive(moved);
  }
}

TEST(GitAttack, AWorktreeBehindALinkAfterTheMarkOfItsRemovalStays) {
  MarkedOnly half("trees/side");
  std::filesystem::rename(half.repo.folder() + "/trees", half.repo.folder() + "/elsewhere");
  std::filesystem::create_symlink("elsewhere", half.repo.folder() + "/trees");
  half.mustLive(half.tree);
}

TEST(GitAttack, AWorktreeThatWasRepairedWhereItsRemovalHadPutItStays) {
  MarkedOnly half("side");
  std::filesystem::rename(half.tree, half.aside());
  git(half.repo.folder(), {"worktree", "repair", half.aside()});
  half.mustLive(half.aside());
}

// The entry's name of the directory goes before the rest of it.
TEST(GitAttack, AnEntryWithoutItsNameIsFinished) {
  for (const char* directory : {"side", "trees/side"}) {
    MarkedOnly half(directory);
    std::filesystem::remove_all(half.tree);
    std::filesystem::remove(half.repo.folder() + "/trees");
    std::filesystem::remove(half.repo.folder() + "/.git/worktrees/side/gitdir");
    half.repo.write(half.mark(), World::read(half.repo.folder() + "/" + half.mark()) + " emptied");
    EXPECT_EQ(half.worker.reconcile(half.action), schema::GitVerdict::SUCCEEDED);
    EXPECT_FALSE(World::exists(half.repo.folder() + "/.git/worktrees/side"));
  }
}

TEST(GitAttack, ADirectoryThatIsExchangedInTheMidstIsNotRemoved) {
  Repo repo;
  const std::string side = repo.folder() + "/side";
  const std::string mine = repo.folder() + "/mine";
  repo.write("mine/mine.txt", "mine\n");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && !testing::Test::HasFailure(); ++i) {
    if (!World::exists(side)) git(repo.folder(), {"worktree", "add", "-q", "-B", "side", "side"});
    std::atomic<bool> stop = false;
    std::thread command([&]() {
      while (!stop) renameat2(AT_FDCWD, side.c_str(), AT_FDCWD, mine.c_str(), RENAME_EXCHANGE);
    });
    worker.change(removeTree("side"));
    stop = true;
    command.join();
    if (World::exists(side + "/mine.txt") && World::exists(mine)) {
      renameat2(AT_FDCWD, side.c_str(), AT_FDCWD, mine.c_str(), RENAME_EXCHANGE);
    } else if (World::exists(side + "/mine.txt")) {
      std::filesystem::rename(side, mine);
    }
    EXPECT_TRUE(World::exists(mine + "/mine.txt")) << i;
  }
  // The control.
  if (!World::exists(side)) git(repo.folder(), {"worktree", "add", "-q", "-B", "side", "side"});
  EXPECT_EQ(worker.change(removeTree("side")), "");
  EXPECT_FALSE(World::exists(side));
  EXPECT_TRUE(World::exists(mine + "/mine.txt"));
}

TEST(GitAttack, AnEntryThatNamesNoFolderIsToldAsThat) {
  Repo repo;
  git(repo.folder(), {"worktree", "add", "-q", "side"});
  std::filesystem::remove(repo.folder() + "/.git/worktrees/side/gitdir");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.change(removeTree("side")), "not_this_worktree/entry");
  EXPECT_TRUE(World::exists(repo.folder() + "/side/kept.txt"));
}

TEST(GitAttack, NothingOfAProtectedNameComesToBe) {
  Repo repo;
  branchWith(repo, "settings", ".claude/settings.json", "{}\n");
  branchWith(repo, "hooks", "tools/hooks/pre-commit", "#!/bin/sh\n");
  branchWith(repo, "plain", "plain.txt", "x\n");
  repo.config("core.hooksPath", "tools/hooks");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.change(checkOut("settings")), "path_protected/files/1");
  EXPECT_EQ(worker.change(checkOut("hooks")), "path_protected/files/1");
  EXPECT_EQ(worker.change(addTree("side", "side", "settings")), "path_protected/files/1");
  for (const char* directory : {".vscode", ".cursor/rules", ".factionos/kept/x", "a/.claude"})
    EXPECT_EQ(worker.change(addTree("side", directory, "plain")), "path_protected/directory") << directory;
  for (const char* name : {".claude", "tools", "side", ".vscode", ".cursor", "a"})
    EXPECT_FALSE(World::exists(repo.folder() + "/" + name)) << name;
  // The control, and settings that are the workspace's own.
  EXPECT_EQ(worker.change(addTree("side", "side", "plain")), "");
  repo.write(".claude/settings.json", "{}\n");
  EXPECT_EQ(worker.change(addTree("other", "other", "settings")), "");
}

TEST(GitAttack, AWorktreeThatCannotBeWholeIsNotBegun) {
  Repo repo;
  branchWith(repo, "filtered", ".gitattributes", "kept.txt filter=lfs\n");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.change(addTree("side", "side", "filtered")), "filter_attribute/checkout");
  EXPECT_FALSE(World::exists(repo.folder() + "/side"));
  EXPECT_FALSE(World::exists(repo.folder() + "/.git/worktrees/side"));
  EXPECT_EQ(git(repo.folder(), {"branch", "--list", "side"}), "");
}

TEST(GitAttack, LogsAndReferencesAreNeverWrittenThroughALink) {
  Repo repo;
  repo.write("kept.txt", "changed\n");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.stageAll(), "");
  const std::string log = repo.folder() + "/.git/logs/HEAD";
  const std::string first = git(repo.folder(), {"rev-parse", "HEAD"});
  std::filesystem::remove(log);
  ASSERT_EQ(symlink((repo.folder() + "/.envrc").c_str(), log.c_str()), 0);
  EXPECT_EQ(worker.commitAs("m"), "repository_refused/reflog_no_plain_file");
  EXPECT_FALSE(World::exists(repo.folder() + "/.envrc"));
  std::filesystem::remove(log);
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  EXPECT_EQ(worker.commitAs("m"), "repository_refused/reflog_no_plain_file");
  EXPECT_EQ(git(repo.folder(), {"rev-parse", "HEAD"}), first);
  std::filesystem::remove(log);
  std::filesystem::create_directory(repo.folder() + "/.claude");
  ASSERT_EQ(symlink("../../../.claude", (repo.folder() + "/.git/refs/heads/agents").c_str()), 0);
  EXPECT_EQ(worker.change(createBranch("agents/x")), "repository_refused/reference_unreadable");
  EXPECT_TRUE(std::filesystem::is_empty(repo.folder() + "/.claude"));
  std::filesystem::remove(repo.folder() + "/.git/refs/heads/agents");
  ASSERT_EQ(worker.commitAs("m"), "");
  EXPECT_EQ(git(repo.folder(), {"reflog", "-1", "--format=%H %gn %gs"}),
            worker.commit + " Grace Hopper factionos: commit\n");
  EXPECT_EQ(git(repo.folder(), {"reflog", "show", "-1", "--format=%H", "main"}), worker.commit + "\n");
}

TEST(GitAttack, ALockOfOursGoesWithItsActionAndNobodyElses) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(createBranch("topic")), "");
  const std::string lock = repo.folder() + "/.git/refs/heads/topic.lock";
  const std::string packed = repo.folder() + "/.git/packed-refs.lock";
  repo.broker.world.write(lock, "");
  EXPECT_EQ(worker.rollback(worker.lastAction).substr(0, 16), "locked/ref_lock/");
  repo.broker.world.write(packed, "factionos " + worker.lastAction + "\n");
  worker.reconcile(worker.lastAction);
  EXPECT_TRUE(World::exists(lock)) << "somebody's";
  EXPECT_FALSE(World::exists(packed));
  repo.broker.world.write(lock, "factionos " + worker.lastAction + "\n");
  worker.reconcile(worker.lastAction);
  EXPECT_FALSE(World::exists(lock));
}

// An action lets go of the snapshots of older ones, and may die as it does.
TEST(GitAttack, ALockOfOursOnAnOlderActionsSnapshotGoesToo) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(createBranch("topic")), "");
  const std::string folder = repo.folder() + "/.git/refs/factionos/";
  const std::string ours = folder + "act_older/change.lock";
  const std::string begun = folder + "act_older/before/refs/heads/x." + worker.lastAction + ".lock";
  const std::string others = folder + "act_older/done.lock";
  repo.broker.world.write(ours, "factionos " + worker.lastAction + "\n");
  repo.broker.world.write(begun, "half");
  repo.broker.world.write(others, "factionos act_another\n");
  worker.reconcile(worker.lastAction);
  EXPECT_FALSE(World::exists(ours));
  EXPECT_FALSE(World::exists(begun));
  EXPECT_TRUE(World::exists(others));
}

// Of its own, loose or packed; what is no action's is not its to let go.
TEST(GitAttack, AnActionLetsGoOfTheOldestSnapshotsAndOfNothingElse) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  const auto make = [&](unsigned first, unsigned last) {
    std::string lines;
    for (unsigned i = first; i < last; ++i)
      for (const char* part : {"head", "before/refs/heads/x", "change"})
        lines += "create refs/factionos/aaa_" + std::to_string(1000 + i) + "/" + part + " HEAD\n";
    repo.write(".git/lines", lines);
    ASSERT_EQ(runIn(repo.folder(), {"sh", "-c", "git update-ref --stdin < .git/lines"}).status, 0);
  };
  make(0, 2);
  git(repo.folder(), {"pack-refs", "--all"});
  make(2, 202);
  git(repo.folder(), {"update-ref", "refs/factionos/aa.b/change", "HEAD"});
  ASSERT_EQ(worker.change(createBranch("topic")), "");
  const auto kept = [&](const std::string& id) {
    return git(repo.folder(), {"for-each-ref", "--format=%(refname)", "refs/factionos/" + id});
  };
  const std::string folder = repo.folder() + "/.git/refs/factionos/";
  for (const char* id : {"aaa_1000", "aaa_1001"}) {
    EXPECT_EQ(kept(id), "") << id;
    EXPECT_FALSE(World::exists(folder + id)) << id;
  }
  EXPECT_NE(kept("aaa_1002"), "");
  EXPECT_NE(kept("aa.b"), "") << "not ours";
  ASSERT_EQ(worker.change(createBranch("more")), "");
  EXPECT_EQ(kept("aaa_1002"), "");
  EXPECT_FALSE(World::exists(folder + "aaa_1002")) << "with its folders";
  EXPECT_NE(kept("aaa_1003"), "");
  git(repo.folder(), {"fsck", "--strict"});
}

TEST(GitAttack, APackedBranchIsRemovedAndItsNeighboursStay) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(createBranch("topic")), "");
  const std::string action = worker.lastAction;
  git(repo.folder(), {"tag", "-a", "-m", "t", "v1"});
  git(repo.folder(), {"branch", "topics"});
  git(repo.folder(), {"pack-refs", "--all"});
  ASSERT_EQ(worker.rollback(action), "");
  EXPECT_EQ(git(repo.folder(), {"for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"}),
            "refs/heads/main\nrefs/heads/topics\nrefs/tags/v1\n");
  git(repo.folder(), {"fsck", "--strict"});
  EXPECT_EQ(worker.change(createBranch("topics/below")), "exists/object_or_ref");
}

TEST(GitAttack, AnotherWorkspacesObjectsAreNotBorrowed) {
  Repo repo;
  const std::string other = repo.broker.world.outside + "/other";
  git(repo.broker.world.outside, {"init", "-q", other});
  repo.broker.world.write(repo.folder() + "/.git/objects/info/alternates", other + "/.git/objects\n");
  EXPECT_EQ(GitWorker(repo.broker, repo.folder(), Access::READ, {other}).denial,
            "repository_refused/alternates_outside");
}

TEST(GitAttack, AFileThatOnlyLooksLikeOursStays) {
  Repo repo;
  branchWith(repo, "topic", "new.txt", "x\n");
  repo.write(".factionos-put", "mine\n");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(checkOut("topic")), "");
  EXPECT_EQ(World::read(repo.folder() + "/.factionos-put"), "mine\n");
}

// With a .git in it a folder of tracked files is one thing to libgit2: asked about a new name in it, it told
// nothing, and the worktree counted as clean.
TEST(GitAttack, UntrackedFilesBesideANestedRepositoryAreSeen) {
  Repo repo;
  repo.write("folder/tracked.txt", "x\n");
  repo.write(".gitignore", "wt\n");
  repo.commit("folder");
  git(repo.folder(), {"worktree", "add", "-q", "wt", "-b", "side"});
  const std::string tree = repo.folder() + "/wt";
  git(repo.folder(), {"init", "-q", tree + "/folder"});
  repo.write("wt/folder/mine.txt", "the only copy\n");
  // No entry of the index is young: libgit2 would look into the folder for its sake.
  const timespec old[] = {{1'600'000'000, 0}, {1'600'000'000, 0}};
  utimensat(AT_FDCWD, (tree + "/folder/tracked.txt").c_str(), old, 0);
  git(tree, {"status"});
  {
    GitWorker reader(repo.broker, tree, GitWorker::Access::READ, {repo.folder()});
    EXPECT_EQ(reader.status(), porcelain(tree));
  }
  GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::WRITE);
  EXPECT_EQ(worker.change(removeTree("wt")), "not_clean/worktree/1");
  EXPECT_EQ(World::read(tree + "/folder/mine.txt"), "the only copy\n");
}

}  // namespace
}  // namespace factionos::test
