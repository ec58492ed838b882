// What status, diff, log, show and branches say of ordinary repositories.
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

TEST(GitReading, StatusIsGits) {
  Repo repo;
  repo.write("kept.txt", "one\nTWO\nthree\n");
  repo.write("folder/new.txt", "new\n");
  repo.write("staged.txt", "staged\n");
  git(repo.folder(), {"add", "staged.txt"});
  git(repo.folder(), {"mv", "folder/inner.txt", "folder/moved.txt"});
  ASSERT_EQ(symlink("kept.txt", (repo.folder() + "/link").c_str()), 0);
  GitWorker worker(repo.broker, repo.folder());
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.status(), porcelain(repo.folder()));
  EXPECT_EQ(worker.status(schema::Untracked::NO), porcelain(repo.folder(), "no"));
  EXPECT_EQ(worker.status(schema::Untracked::NORMAL), porcelain(repo.folder(), "normal"));
}

TEST(GitReading, ARepositoryWithoutACommitHasAStatus) {
  Repo repo;
  std::filesystem::remove_all(repo.folder() + "/.git");
  git(repo.folder(), {"init", "-q", "-b", "trunk"});
  git(repo.folder(), {"add", "kept.txt"});
  GitWorker worker(repo.broker, repo.folder());
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.status(), porcelain(repo.folder()));
  auto answer = worker.call(worker.repository.logRequest());
  EXPECT_EQ(denialText(answer.getDenial()), "");
  EXPECT_EQ(answer.getLog().getCommits().size(), 0u);
}

TEST(GitReading, DiffCountsAndShowsTheOneFileThatWasAskedFor) {
  Repo repo;
  repo.write("kept.txt", "one\nTWO\nthree\nfour\n");
  GitWorker worker(repo.broker, repo.folder());
  ASSERT_EQ(worker.denial, "");
  auto answer = worker.call(worker.repository.diffRequest());
  ASSERT_EQ(denialText(answer.getDenial()), "");
  ASSERT_EQ(answer.getDiff().getFiles().size(), 1u);
  EXPECT_EQ(answer.getDiff().getInsertions(), 2u);
  EXPECT_EQ(answer.getDiff().getDeletions(), 1u);
  EXPECT_EQ(answer.getDiff().getPatch().size(), 0u);

  auto one = worker.repository.diffRequest();
  one.initRequest().setFile("kept.txt");
  auto shown = worker.call(one);
  ASSERT_EQ(denialText(shown.getDenial()), "");
  const auto patch = shown.getDiff().getPatch();
  const std::string text(reinterpret_cast<const char*>(patch.begin()), patch.size());
  EXPECT_NE(text.find("+TWO"), std::string::npos) << text;

  auto none = worker.repository.diffRequest();
  none.initRequest().setFile("folder/inner.txt");
  EXPECT_EQ(denialText(worker.call(none).getDenial()), "not_found/file_has_no_difference");
}

TEST(GitReading, LogIsPagedAndShowTellsOneCommit) {
  Repo repo;
  for (int i = 0; i < 5; ++i) {
    repo.write("kept.txt", "version " + std::to_string(i) + "\n");
    repo.commit("change " + std::to_string(i), 1'700'000'100 + i);
  }
  GitWorker worker(repo.broker, repo.folder());
  ASSERT_EQ(worker.denial, "");
  auto request = worker.repository.logRequest();
  request.initRequest().setLimit(2);
  request.getRequest().setSkip(1);
  auto answer = worker.call(request);
  const auto commits = answer.getLog().getCommits();
  ASSERT_EQ(commits.size(), 2u);
  EXPECT_EQ(commits[0].getSubject(), "change 3");
  EXPECT_EQ(commits[1].getSubject(), "change 2");
  EXPECT_TRUE(answer.getLog().getMore());
  EXPECT_EQ(commits[0].getAuthor().getEmail(), "ada@example.org");
  EXPECT_EQ(commits[0].getAuthor().getTime(), 1'700'000'103'000);

  auto show = worker.repository.showRequest();
  show.initRequest().setCommit("HEAD~2");
  auto shown = worker.call(show);
  ASSERT_EQ(denialText(shown.getDenial()), "");
  EXPECT_EQ(shown.getShow().getCommit().getSubject(), "change 2");
  EXPECT_EQ(shown.getShow().getDiff().getFiles().size(), 1u);
}

TEST(GitReading, BranchesTellWhereTheyAre) {
  Repo repo;
  git(repo.folder(), {"branch", "topic"});
  git(repo.folder(), {"pack-refs", "--all"});
  git(repo.folder(), {"branch", "loose"});
  git(repo.folder(), {"worktree", "add", "-q", "tree", "topic"});
  GitWorker worker(repo.broker, repo.folder());
  ASSERT_EQ(worker.denial, "");
  auto answer = worker.call(worker.repository.branchesRequest());
  const auto branches = answer.getBranches().getBranches();
  ASSERT_EQ(branches.size(), 3u);
  EXPECT_EQ(branches[0].getName(), "loose");
  EXPECT_EQ(branches[1].getName(), "main");
  EXPECT_TRUE(branches[1].getCurrent());
  EXPECT_EQ(branches[2].getName(), "topic");
  EXPECT_EQ(branches[2].getWorktree(), "tree");

  auto trees = worker.call(worker.repository.worktreesRequest());
  ASSERT_EQ(trees.getWorktrees().size(), 2u);
  EXPECT_TRUE(trees.getWorktrees()[0].getMain());
  EXPECT_EQ(trees.getWorktrees()[1].getName(), "tree");
  EXPECT_EQ(bytesOf(trees.getWorktrees()[1].getDirectory()), "tree");
}

// P69.
TEST(GitReading, ALinkedWorktreeIsReadWithItsMainRepositoryAsARoot) {
  Repo repo;
  const std::string tree = repo.broker.world.outside + "/tree";
  git(repo.folder(), {"worktree", "add", "-q", tree, "-b", "topic"});
  repo.broker.world.write(tree + "/kept.txt", "changed\n");
  GitWorker without(repo.broker, tree);
  EXPECT_EQ(without.denial, "repository_refused/git_directory_outside");
  GitWorker worker(repo.broker, tree, GitWorker::Access::READ, {repo.folder()});
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.status(), porcelain(tree));
}

// G7.
TEST(GitReading, NamesComeBackByteByByte) {
  Repo repo;
  const std::vector<std::string> names = {"new\nline",        "tab\there",    "esc\x1b[2J",
                                          "inv\xff\xfelid",   " blank ",      "quote\"d",
                                          "\xc3\xa4\xc3\xb6", "cafe\xcc\x81", std::string(255, 'x')};
  for (const std::string& name : names) repo.write(name, "x\n");
  std::string deep;
  for (int i = 0; i < 15; ++i) deep += std::string(250, 'd') + "/";
  if (GitRun made = runIn(repo.folder(), {"mkdir", "-p", deep.substr(0, deep.size() - 1)}); made.status == 0)
    runIn(repo.folder() + "/" + deep, {"touch", "leaf"});
  GitWorker worker(repo.broker, repo.folder());
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.status(), porcelain(repo.folder()));
  EXPECT_EQ(worker.lastDenial, "");
}

// G13.
TEST(GitReading, SparseCheckoutHasNoPhantomDeletions) {
  Repo repo;
  git(repo.folder(), {"sparse-checkout", "set", "--no-cone", "/kept.txt"});
  ASSERT_FALSE(World::exists(repo.folder() + "/folder/inner.txt"));
  GitWorker worker(repo.broker, repo.folder());
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.status(), porcelain(repo.folder()));
  EXPECT_TRUE(worker.status().empty());
  EXPECT_EQ(worker.call(worker.repository.diffRequest()).getDiff().getTotal(), 0u);
}

TEST(GitReading, SubmodulesAreSeenAndNotEntered) {
  Repo repo;
  const std::string other = repo.broker.world.outside + "/other";
  git(repo.broker.world.outside, {"init", "-q", "other"});
  repo.broker.world.write(other + "/file", "content\n");
  git(other, {"add", "-A"});
  git(other, {"commit", "-q", "-m", "other"});
  git(repo.folder(), {"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub"});
  GitWorker worker(repo.broker, repo.folder());
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.status(), porcelain(repo.folder()));
  git(repo.folder(), {"commit", "-q", "-m", "with a submodule"});
  // Whatever its own configuration says is read by nobody.
  repo.broker.world.write(repo.folder() + "/.git/modules/sub/config", "[core\nbroken");
  EXPECT_TRUE(worker.status().empty());
  EXPECT_EQ(worker.lastDenial, "");
}

// G12.
TEST(GitReading, FilterAttributesMakeNoPhantomChanges) {
  Repo repo;
  const std::string content(1000, 'b');
  repo.write(".gitattributes", "*.bin filter=lfs\n*.odd filter=odd\n");
  const std::string digest =
      runIn(repo.folder(), {"sh", "-c", "printf %1000s | tr ' ' b | sha256sum | cut -c1-64"})
          .output.substr(0, 64);
  repo.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:" + digest + "\nsize 1000\n");
  repo.write("some.odd", "stored\n");
  repo.commit("pointers");
  repo.write("big.bin", content);
  repo.write("some.odd", "what a filter made of it\n");
  GitWorker worker(repo.broker, repo.folder());
  ASSERT_EQ(worker.denial, "");
  auto request = worker.repository.statusRequest();
  auto answer = worker.call(request);
  EXPECT_EQ(answer.getStatus().getUnstaged(), 0u);
  EXPECT_EQ(answer.getStatus().getUnjudged(), 1u);
  ASSERT_EQ(answer.getStatus().getEntries().size(), 1u);
  EXPECT_TRUE(answer.getStatus().getEntries()[0].getUnjudged());
  repo.write("big.bin", std::string(1000, 'c'));
  EXPECT_EQ(worker.call(worker.repository.statusRequest()).getStatus().getUnstaged(), 1u);
}

// Its oldest commits name parents that are not there.
TEST(GitReading, AShallowCloneEndsAtItsBoundary) {
  Repo repo;
  for (int i = 0; i < 4; ++i) {
    repo.write("kept.txt", std::to_string(i) + "\n");
    repo.commit("more", 1'700'000'100 + i);
  }
  git(repo.folder(), {"checkout", "-q", "-b", "side", "HEAD~2"});
  repo.write("side.txt", "side\n");
  repo.commit("side", 1'700'000'200);
  git(repo.folder(), {"checkout", "-q", "main"});
  git(repo.folder(), {"merge", "-q", "--no-edit", "side"}, 1'700'000'300);
  const std::string clone = repo.broker.world.outside + "/clone";
  git(repo.folder(), {"clone", "-q", "--depth=3", "--branch=main", "file://" + repo.folder(), clone});
  git(clone, {"commit", "-q", "--allow-empty", "-m", "mine"}, 1'700'000'400);
  git(clone, {"reset", "-q", "--soft", "HEAD~2"});
  git(clone, {"commit", "-q", "--allow-empty", "-m", "another"}, 1'700'000'500);
  GitWorker worker(repo.broker, clone);
  ASSERT_EQ(worker.denial, "");
  std::string lines;
  auto log = worker.repository.logRequest();
  log.initRequest().setLimit(50);
  auto logged = worker.call(log);
  EXPECT_EQ(denialText(logged.getDenial()), "");
  for (const auto commit : logged.getLog().getCommits()) {
    lines += std::string(commit.getCommit());
    for (const auto parent : commit.getParents()) lines += " " + std::string(parent);
    lines += "\n";
  }
  // A root has no parent, and no blank behind it.
  std::string theirs = git(clone, {"log", "--format=%H %P"});
  for (std::size_t at = 0; (at = theirs.find(" \n")) != std::string::npos;) theirs.erase(at, 1);
  EXPECT_EQ(lines, theirs) << "with parents as git has them";
  const std::string boundary = git(clone, {"rev-list", "--max-parents=0", "HEAD"}).substr(0, 40);
  auto show = worker.repository.showRequest();
  show.initRequest().setCommit(boundary.c_str());
  auto shown = worker.call(show);
  EXPECT_EQ(shown.getShow().getDiff().getTotal(), 2U) << "all that it holds";
  EXPECT_EQ(shown.getShow().getCommit().getParents().size(), 0U);
  auto status = worker.call(worker.repository.statusRequest());
  EXPECT_EQ(denialText(status.getDenial()), "");
  const auto head = status.getStatus().getHead();
  EXPECT_EQ(std::to_string(head.getAhead()) + "\t" + std::to_string(head.getBehind()) + "\n",
            git(clone, {"rev-list", "--left-right", "--count", "HEAD...@{upstream}"}));
}

}  // namespace
}  // namespace factionos::test
