// What is in no commit is kept, wherever it lies: a worktree that holds any of it is not removed.
#include <filesystem>

#include <sys/stat.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;
using Access = GitWorker::Access;

// A repository with a linked worktree `side`.
struct Side {
  Side() : tree(repo.folder() + "/side") { git(repo.folder(), {"worktree", "add", "-q", "side"}); }

  // What the worker says of its removal, which must not have begun where it refuses.
  std::string removed() {
    GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
    EXPECT_EQ(worker.denial, "");
    std::string denial = worker.change(removeTree("side"));
    EXPECT_EQ(World::exists(tree + "/.git"), !denial.empty());
    return denial;
  }

  Repo repo;
  std::string tree;
};

// Neither git nor libgit2 tells of a folder that it can't look into.
class GitKeepingOf : public testing::TestWithParam<const char*> {};

TEST_P(GitKeepingOf, AFolderThatCannotBeLookedInto) {
  for (const mode_t mode : {0000U, 0300U, 0400U}) {
    Side side;
    const std::string folder = side.tree + "/" + GetParam();
    side.repo.write("side/" + std::string(GetParam()) + "/mine.txt", "in no commit\n");
    chmod(folder.c_str(), mode);
    EXPECT_EQ(side.removed(), "not_clean/worktree/1") << std::oct << mode;
    chmod(folder.c_str(), 0755);
    EXPECT_EQ(World::read(folder + "/mine.txt"), "in no commit\n");
    fs::remove_all(folder);
    EXPECT_EQ(side.removed(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, GitKeepingOf, testing::Values("secret", "new/secret", "folder/secret"),
                         [](const auto& each) {
                           const std::string path = each.param;
                           return path == "secret" ? "Top" : path == "new/secret" ? "New" : "Tracked";
                         });

TEST(GitKeeping, AnIgnoredFolderThatCannotBeLookedIntoIsNoReason) {
  Repo repo;
  repo.write(".gitignore", "cache\n");
  repo.commit("ignore");
  git(repo.folder(), {"worktree", "add", "-q", "side"});
  fs::create_directory(repo.folder() + "/side/cache");
  chmod((repo.folder() + "/side/cache").c_str(), 0);
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.change(removeTree("side")), "");
  EXPECT_FALSE(World::exists(repo.folder() + "/side"));
}

TEST(GitKeeping, AMergeThatIsHalfResolved) {
  for (const bool squashed : {false, true}) {
    Repo repo;
    git(repo.folder(), {"checkout", "-q", "-b", "topic"});
    repo.write("kept.txt", "topic\n");
    repo.commit("topic");
    git(repo.folder(), {"checkout", "-q", "main"});
    repo.write("kept.txt", "main\n");
    repo.commit("main");
    git(repo.folder(), {"worktree", "add", "-q", "side"});
    const std::string tree = repo.folder() + "/side";
    runIn(tree, {"git", "merge", squashed ? "--squash" : "--no-squash", "topic"});
    repo.write("side/kept.txt", "my resolution\n");
    ASSERT_EQ(porcelain(tree), std::vector<std::string>{"UU kept.txt"});
    GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
    // Of a squashed one only the conflict is there to tell.
    EXPECT_EQ(worker.change(removeTree("side")),
              squashed ? "not_clean/worktree/1" : "underway/merge_or_rebase");
    EXPECT_EQ(World::read(tree + "/kept.txt"), "my resolution\n");
  }
}

TEST(GitKeeping, ARebaseThatIsUnderWay) {
  Side side;
  git(side.tree, {"commit", "-q", "--allow-empty", "-m", "one"});
  git(side.tree, {"-c", "sequence.editor=sed -i 1ibreak", "rebase", "-q", "-i", "--root"});
  EXPECT_EQ(side.removed(), "underway/merge_or_rebase");
  git(side.tree, {"rebase", "--quit"});
  EXPECT_EQ(side.removed(), "");
}

// Git itself hides these edits, from its status and from its own removal of a worktree.
TEST(GitKeeping, AnEditThatAMarkOfTheUsersOwnHides) {
  for (const char* mark : {"--assume-unchanged", "--skip-worktree"}) {
    Side side;
    git(side.tree, {"update-index", mark, "kept.txt"});
    side.repo.write("side/kept.txt", "in no commit\n");
    EXPECT_EQ(porcelain(side.tree), std::vector<std::string>()) << "the control";
    EXPECT_EQ(side.removed(), "not_clean/worktree/1") << mark;
    EXPECT_EQ(World::read(side.tree + "/kept.txt"), "in no commit\n");
    side.repo.write("side/kept.txt", World::read(side.repo.folder() + "/kept.txt"));
    EXPECT_EQ(side.removed(), "") << mark;
  }
}

TEST(GitKeeping, AFileThatIsLeftOutAndNotThereIsNoReason) {
  Side side;
  git(side.tree, {"update-index", "--skip-worktree", "kept.txt"});
  fs::remove(side.tree + "/kept.txt");
  EXPECT_EQ(side.removed(), "");
}

TEST(GitKeeping, FilesInASubmodulesPlace) {
  Repo repo;
  git(repo.folder(), {"update-index", "--add", "--cacheinfo", "160000," + tip(repo.folder()) + ",sub"});
  git(repo.folder(), {"commit", "-q", "-m", "submodule"});
  git(repo.folder(), {"worktree", "add", "-q", "side"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  const std::string sub = repo.folder() + "/side/sub";
  repo.write("side/sub/mine.txt", "in no commit\n");
  EXPECT_EQ(worker.change(removeTree("side")), "not_clean/submodules") << "no repository";
  fs::remove(sub + "/mine.txt");
  chmod(sub.c_str(), 0);
  EXPECT_EQ(worker.change(removeTree("side")), "not_clean/submodules") << "who knows";
  chmod(sub.c_str(), 0755);
  fs::remove(sub);
  git(repo.folder(), {"clone", "-q", repo.folder(), "side/sub"});
  git(sub, {"commit", "-q", "--allow-empty", "-m", "only here"});
  EXPECT_EQ(worker.change(removeTree("side")), "not_clean/submodules") << "one of its own";
  EXPECT_EQ(git(sub, {"log", "-1", "--format=%s"}), "only here\n");
  fs::remove_all(sub);
  fs::create_directory(sub);
  EXPECT_EQ(worker.change(removeTree("side")), "") << "an empty one is nobody's";
}

// Its commits lie in what the main repository keeps of the worktree.
TEST(GitKeeping, ASubmodulesCommits) {
  Repo repo;
  const std::string lib = repo.broker.world.outside + "/lib";
  git(repo.broker.world.outside, {"init", "-q", "lib"});
  git(lib, {"commit", "-q", "--allow-empty", "-m", "lib"});
  git(repo.folder(), {"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub"});
  git(repo.folder(), {"commit", "-q", "-m", "submodule"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(addTree("side", "side")), "");
  const std::string added = worker.lastAction;
  const std::string sub = repo.folder() + "/side/sub";
  git(repo.folder() + "/side",
      {"-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"});
  git(sub, {"checkout", "-q", "-b", "work"});
  git(sub, {"commit", "-q", "--allow-empty", "-m", "only here"});
  const std::string work = repo.folder() + "/.git/worktrees/side/modules/sub/refs/heads/work";
  ASSERT_TRUE(World::exists(work)) << "the control";
  EXPECT_EQ(worker.rollback(added), "not_clean/submodules");
  EXPECT_EQ(worker.change(removeTree("side")), "not_clean/submodules");
  EXPECT_TRUE(World::exists(work));
  fs::remove_all(sub);
  fs::create_directory(sub);
  EXPECT_EQ(worker.change(removeTree("side")), "not_clean/submodules") << "they are there all the same";
  fs::remove_all(repo.folder() + "/side");
  EXPECT_EQ(worker.change(removeTree("side")), "not_clean/submodules") << "without its folder, too";
  EXPECT_TRUE(World::exists(work));
}

TEST(GitKeeping, AWorktreeThatIsLocked) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(addTree("side", "side")), "");
  const std::string added = worker.lastAction;
  git(repo.folder(), {"worktree", "lock", "side"});
  EXPECT_EQ(worker.change(removeTree("side")), "locked/worktree");
  EXPECT_EQ(worker.rollback(added), "locked/worktree");
  EXPECT_TRUE(World::exists(repo.folder() + "/side/kept.txt"));
  git(repo.folder(), {"worktree", "unlock", "side"});
  EXPECT_EQ(worker.rollback(added), "");
  EXPECT_FALSE(World::exists(repo.folder() + "/side"));
}

}  // namespace
}  // namespace factionos::test
