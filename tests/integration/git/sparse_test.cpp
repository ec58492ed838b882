// Sparse checkouts: what works is what git makes of the same repository, and what can't be right is refused.
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;
using Access = GitWorker::Access;
using Change = schema::GitChange::Builder;

// A branch that changes and removes what is within and without, and one that has more of both.
void makeBranches(const Repo& repo) {
  git(repo.folder(), {"checkout", "-q", "-b", "changed"});
  repo.write("in/a.txt", "changed there\n");
  repo.write("out/c.txt", "changed there\n");
  fs::remove(repo.folder() + "/in/deep/b.txt");
  fs::remove(repo.folder() + "/out/deep/d.txt");
  repo.commit("changed");
  git(repo.folder(), {"checkout", "-q", "-b", "more"});
  for (const char* path : {"in/new/n.txt", "out/n.txt", "elsewhere/z.txt", "top.txt"})
    repo.write(path, "new\n");
  repo.commit("more");
  git(repo.folder(), {"checkout", "-q", "main"});
}

// in/ and the files at the top are checked out, out/ is not. `twin` is the same again, for git itself.
struct Sparse {
  explicit Sparse(const std::string& kind)
      : twin(repo.broker.world.outside + "/twin"), worker(brokerOf(kind), repo.folder(), Access::WRITE) {}

  Broker& brokerOf(const std::string& kind) {
    for (const char* path : {"in/a.txt", "in/deep/b.txt", "out/c.txt", "out/deep/d.txt"})
      repo.write(path, path + std::string("\n"));
    repo.commit("second");
    repo.write("out/c.txt", "changed\n");
    repo.write("in/a.txt", "changed\n");
    repo.commit("third");
    makeBranches(repo);
    if (kind == "cone") {
      git(repo.folder(), {"sparse-checkout", "set", "--cone", "in"});
    } else {
      git(repo.folder(), {"sparse-checkout", "set", "--no-cone", "/*", "!/out/"});
    }
    fs::copy(repo.folder(), twin, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    git(twin, {"update-index", "-q", "--refresh"});
    EXPECT_FALSE(World::exists(repo.folder() + "/out"));
    return repo.broker;
  }

  // In both, what the real git is asked for.
  void both(const std::vector<std::string>& arguments) {
    git(repo.folder(), arguments);
    git(twin, arguments);
  }
  void write(const std::string& path, const std::string& content) {
    repo.write(path, content);
    repo.broker.world.write(twin + "/" + path, content);
  }
  // Entries with their marks, what is told, and the files.
  void mustAgree() {
    const std::vector<std::string> marks = {"ls-files", "-t", "-s"};
    EXPECT_EQ(git(repo.folder(), marks), git(twin, marks));
    EXPECT_EQ(worker.status(), porcelain(twin));
    EXPECT_EQ(porcelain(repo.folder()), porcelain(twin));
    EXPECT_EQ(git(repo.folder(), {"write-tree"}), git(twin, {"write-tree"}));
    EXPECT_FALSE(World::exists(repo.folder() + "/out/deep"));
  }

  Repo repo;
  std::string twin;
  GitWorker worker;
};

class GitSparse : public testing::TestWithParam<const char*> {};

TEST_P(GitSparse, StageAndCommitAreWhatGitWouldMake) {
  Sparse sparse(GetParam());
  auto& worker = sparse.worker;
  sparse.mustAgree();
  sparse.write("in/a.txt", "mine\n");
  sparse.write("in/new.txt", "new\n");
  sparse.mustAgree();
  ASSERT_EQ(worker.stage({"in"}), "");
  git(sparse.twin, {"add", "in"});
  sparse.mustAgree();
  ASSERT_EQ(worker.commitAs("mine"), "");
  git(sparse.twin, {"commit", "-q", "-m", "mine"});
  sparse.mustAgree();
  EXPECT_EQ(git(sparse.repo.folder(), {"rev-parse", "HEAD^{tree}"}),
            git(sparse.twin, {"rev-parse", "HEAD^{tree}"}));
  unlink((sparse.repo.folder() + "/in/a.txt").c_str());
  unlink((sparse.twin + "/in/a.txt").c_str());
  ASSERT_EQ(worker.stageAll(), "");
  const std::string staged = worker.lastAction;
  git(sparse.twin, {"add", "-A"});
  sparse.mustAgree();
  ASSERT_EQ(worker.rollback(staged), "");
  git(sparse.twin, {"reset", "-q"});
  sparse.mustAgree();
}

// What is left out stays left out, whatever its entry becomes.
TEST_P(GitSparse, UnstageKeepsWhatIsLeftOut) {
  Sparse sparse(GetParam());
  sparse.both({"reset", "-q", "--soft", "HEAD~"});
  sparse.mustAgree();
  ASSERT_EQ(sparse.worker.change([](Change change) { change.initUnstage().setAll(true); }), "");
  const std::string action = sparse.worker.lastAction;
  git(sparse.twin, {"reset", "-q"});
  sparse.mustAgree();
  ASSERT_EQ(sparse.worker.rollback(action), "");
  sparse.both({"reset", "-q", "--soft", "HEAD"});
  EXPECT_EQ(sparse.worker.status(), porcelain(sparse.repo.folder()));
  EXPECT_NE(git(sparse.repo.folder(), {"ls-files", "-t", "out/c.txt"}).find("S out/c.txt"),
            std::string::npos);
}

TEST_P(GitSparse, DifferencesAreGits) {
  Sparse sparse(GetParam());
  sparse.write("in/a.txt", "mine\n");
  auto diff = sparse.worker.call(sparse.worker.repository.diffRequest());
  EXPECT_EQ(diff.getDiff().getTotal(), 1u);
  auto between = sparse.worker.repository.diffRequest();
  between.initRequest().setFrom("HEAD~");
  EXPECT_EQ(sparse.worker.call(between).getDiff().getTotal(), 2u) << "commits know nothing of it";
  auto log = sparse.worker.call(sparse.worker.repository.logRequest());
  EXPECT_EQ(log.getLog().getCommits().size(), 3u);
}

TEST_P(GitSparse, CheckoutOfWhatTheIndexKnowsLeavesOutWhatIsLeftOut) {
  Sparse sparse(GetParam());
  ASSERT_EQ(sparse.worker.change(checkOut("changed")), "");
  const std::string action = sparse.worker.lastAction;
  git(sparse.twin, {"checkout", "-q", "changed"});
  sparse.mustAgree();
  EXPECT_FALSE(World::exists(sparse.repo.folder() + "/out"));
  EXPECT_EQ(World::read(sparse.repo.folder() + "/in/a.txt"), "changed there\n");
  ASSERT_EQ(sparse.worker.rollback(action), "");
  git(sparse.twin, {"checkout", "-q", "main"});
  sparse.mustAgree();
  EXPECT_FALSE(World::exists(sparse.repo.folder() + "/out"));
}

TEST(GitSparseOnce, CheckoutJudgesNewFilesByACone) {
  Sparse sparse("cone");
  ASSERT_EQ(sparse.worker.change(checkOut("more")), "");
  const std::string action = sparse.worker.lastAction;
  git(sparse.twin, {"checkout", "-q", "more"});
  sparse.mustAgree();
  for (const char* path : {"in/new/n.txt", "top.txt"})
    EXPECT_TRUE(World::exists(sparse.repo.folder() + "/" + path));
  for (const char* path : {"out", "elsewhere"})
    EXPECT_FALSE(World::exists(sparse.repo.folder() + "/" + path));
  EXPECT_EQ(sparse.worker.reconcile(action), schema::GitVerdict::SUCCEEDED);
  ASSERT_EQ(sparse.worker.rollback(action), "");
  git(sparse.twin, {"checkout", "-q", "main"});
  sparse.mustAgree();
}

TEST(GitSparseOnce, CheckoutIsRefusedWhereThePatternsWouldHaveToBeGuessed) {
  Sparse sparse("patterns");
  EXPECT_EQ(sparse.worker.change(checkOut("more")), "unavailable/sparse_checkout/4");
  sparse.mustAgree();
}

// git would take a file away that is there and left out by the cone.
TEST(GitSparseOnce, CheckoutIsRefusedWhereTheConeSaysOtherwiseThanTheIndex) {
  Sparse cone("cone");
  cone.repo.write("out/c.txt", "changed\n");
  EXPECT_EQ(cone.worker.change(checkOut("changed")), "unavailable/sparse_checkout/1");
  EXPECT_EQ(World::read(cone.repo.folder() + "/out/c.txt"), "changed\n");
  // Patterns that only claim to be a cone.
  cone.repo.write(".git/info/sparse-checkout", "/*\n!/*/\n/in/\n!/in/deep/b.txt\n");
  EXPECT_EQ(cone.worker.change(checkOut("more")), "unavailable/sparse_checkout/4");
  EXPECT_FALSE(World::exists(cone.repo.folder() + "/top.txt"));
}

TEST(GitSparseOnce, WhatLiesWhereSomethingIsLeftOutIsInTheWay) {
  Sparse sparse("cone");
  sparse.repo.write("elsewhere/z.txt", "mine\n");
  EXPECT_EQ(sparse.worker.change(checkOut("more")), "would_overwrite/untracked/1");
  EXPECT_EQ(World::read(sparse.repo.folder() + "/elsewhere/z.txt"), "mine\n");
  EXPECT_EQ(branchNow(sparse.repo.folder()), "main");
}

TEST(GitSparseOnce, ACheckoutFromNoBranchIsUndoneToTheMarksThatWere) {
  for (const char* kind : {"cone", "patterns"}) {
    Sparse sparse(kind);
    sparse.both({"checkout", "-q", "--detach"});
    ASSERT_EQ(sparse.worker.change(checkOut("changed")), "") << kind;
    ASSERT_EQ(sparse.worker.rollback(sparse.worker.lastAction), "") << kind;
    sparse.mustAgree();
  }
}

// Whoever marks an entry without a sparse checkout wants the file left alone.
TEST(GitSparseOnce, AMarkWithoutPatternsIsLeftAlone) {
  Repo repo;
  git(repo.folder(), {"update-index", "--skip-worktree", "kept.txt"});
  git(repo.folder(), {"branch", "other"});
  repo.write("kept.txt", "mine\n");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(checkOut("other")), "") << "it is not touched";
  EXPECT_EQ(World::read(repo.folder() + "/kept.txt"), "mine\n");
}

TEST(GitSparseOnce, AWorktreeOfASparseCheckoutIsWhole) {
  for (const char* kind : {"cone", "patterns"}) {
    Sparse sparse(kind);
    ASSERT_EQ(sparse.worker.change([](Change change) {
      auto request = change.initWorktreeAdd();
      request.setName("side");
      request.setDirectory("side");
    }),
              "");
    EXPECT_EQ(porcelain(sparse.repo.folder() + "/side"), std::vector<std::string>());
    EXPECT_TRUE(World::exists(sparse.repo.folder() + "/side/out/c.txt"));
    EXPECT_EQ(sparse.worker.change([](Change change) { change.initWorktreeRemove().setName("side"); }), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GitSparse, testing::Values("cone", "patterns"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace factionos::test
