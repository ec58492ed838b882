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
  Side() : tree(repo.folder() + "/side") {
    git(repo.folder(), {"worktree", "add", "-q", "side"});
  }

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

}  // namespace
}  // namespace factionos::test
