// Repositories that are refused, and by which rule.
#include <filesystem>

#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

TEST(GitRefusal, NoRepository) {
  Repo repo;
  std::filesystem::remove_all(repo.folder() + "/.git");
  EXPECT_EQ(repo.opened(), "not_found/no_repository");
}

// G2.
TEST(GitRefusal, AWorkTreeElsewhere) {
  Repo repo;
  repo.config("core.worktree", repo.broker.world.outside);
  EXPECT_EQ(repo.opened(), "repository_refused/worktree_outside");
  repo.config("core.worktree", "/etc");
  EXPECT_EQ(repo.opened(), "repository_refused/worktree_outside");
  repo.config("core.worktree", repo.folder());
  EXPECT_EQ(repo.opened(), "");
}

// P67.
TEST(GitRefusal, AGitDirectoryElsewhere) {
  Repo repo;
  const std::string other = repo.broker.world.outside + "/other";
  std::filesystem::create_directories(other);
  git(other, {"init", "-q"});
  std::filesystem::rename(repo.folder() + "/.git", repo.folder() + "/kept");
  repo.broker.world.write(repo.folder() + "/.git", "gitdir: " + other + "/.git\n");
  EXPECT_EQ(repo.opened(), "repository_refused/git_directory_outside");
  repo.broker.world.write(repo.folder() + "/.git", "gitdir: ../outside/other/.git\n");
  EXPECT_EQ(repo.opened(), "repository_refused/git_directory_outside");
  // Also where the other repository is a workspace of its own: it does not say that this is its working tree.
  EXPECT_EQ(GitWorker(repo.broker, repo.folder(), GitWorker::Access::WRITE, {other}).denial,
            "repository_refused/worktree_link");
  unlink((repo.folder() + "/.git").c_str());
  ASSERT_EQ(symlink((other + "/.git").c_str(), (repo.folder() + "/.git").c_str()), 0);
  EXPECT_EQ(repo.opened(), "repository_refused/git_directory_is_a_link");
}

TEST(GitRefusal, ACommonDirectoryElsewhere) {
  Repo repo;
  repo.broker.world.write(repo.folder() + "/.git/commondir", "../../outside\n");
  EXPECT_EQ(repo.opened(), "repository_refused/common_directory_outside");
}

// Anybody can write its `.git`; only the repository says which working trees are its own.
TEST(GitRefusal, ALinkedWorktreesFileInAnotherFolder) {
  Repo repo;
  const std::string tree = repo.broker.world.outside + "/tree";
  const std::string other = repo.broker.world.outside + "/other";
  git(repo.folder(), {"worktree", "add", "-q", tree});
  repo.broker.world.write(other + "/.git", World::read(tree + "/.git"));
  GitWorker control(repo.broker, tree, GitWorker::Access::READ, {repo.folder()});
  EXPECT_EQ(control.denial, "");
  GitWorker worker(repo.broker, other, GitWorker::Access::READ, {repo.folder()});
  EXPECT_EQ(worker.denial, "repository_refused/worktree_link");
}

TEST(GitRefusal, AlternatesElsewhere) {
  Repo repo;
  const std::string other = repo.broker.world.outside + "/other";
  std::filesystem::create_directories(other);
  git(other, {"init", "-q"});
  repo.broker.world.write(repo.folder() + "/.git/objects/info/alternates", other + "/.git/objects\n");
  EXPECT_EQ(repo.opened(), "repository_refused/alternates_outside");
  EXPECT_EQ(GitWorker(repo.broker, repo.folder(), GitWorker::Access::READ, {other}).denial,
            "repository_refused/alternates_outside")
      << "another workspace, which perhaps not everybody may read";
  const std::string inside = repo.folder() + "/inside";
  std::filesystem::create_directories(inside);
  git(inside, {"init", "-q"});
  repo.broker.world.write(repo.folder() + "/.git/objects/info/alternates", inside + "/.git/objects\n");
  EXPECT_EQ(repo.opened(), "");
}

TEST(GitRefusal, FormatsByName) {
  Repo repo;
  const auto opened = [&repo](const std::string& more) {
    repo.write(".git/config", "[core]\n\trepositoryformatversion = 1\n" + more);
    return repo.opened();
  };
  EXPECT_EQ(opened(""), "");
  EXPECT_EQ(opened("[extensions]\nrefStorage = files\nworktreeConfig = true\n"), "");
  EXPECT_EQ(opened("[extensions]\nrefStorage = reftable\n"), "repository_refused/reftable");
  EXPECT_EQ(opened("[extensions]\npartialClone = origin\n"), "repository_refused/partial_clone");
  EXPECT_EQ(opened("[extensions]\nobjectFormat = sha256\n"), "repository_refused/object_format");
  EXPECT_EQ(opened("[extensions]\nfromTheFuture = 1\n"), "repository_refused/unknown_extension");
  EXPECT_EQ(opened("[core]\nbare = true\n"), "repository_refused/bare");
}

TEST(GitRefusal, ABrokenConfiguration) {
  Repo repo;
  repo.broker.world.write(repo.folder() + "/.git/config", "[core\n");
  EXPECT_EQ(repo.opened(), "repository_refused/config_malformed");
  unlink((repo.folder() + "/.git/config").c_str());
  ASSERT_EQ(symlink("/etc/hostname", (repo.folder() + "/.git/config").c_str()), 0);
  EXPECT_EQ(repo.opened(), "repository_refused/config_unreadable");
}

// G10.
TEST(GitRefusal, AnotherOwner) {
  Repo repo;
  EXPECT_EQ(repo.opened(), "");
  if (!giveToAnother(repo.folder() + "/.git") && lacks("root, who alone gives a folder away")) GTEST_SKIP();
  EXPECT_EQ(repo.opened(), "repository_refused/owner");
}

}  // namespace
}  // namespace factionos::test
