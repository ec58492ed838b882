// Checkout: what it moves, what it leaves, and what is in its way.
#include <algorithm>
#include <filesystem>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;
using Access = GitWorker::Access;

TEST(GitCheckout, MovesFilesIndexAndHead) {
  Repo repo;
  git(repo.folder(), {"checkout", "-q", "-b", "topic"});
  repo.write("folder/inner.txt", "topic\n");
  repo.write("more/only.txt", "here\n", 0755);
  unlink((repo.folder() + "/kept.txt").c_str());
  ASSERT_EQ(symlink("more", (repo.folder() + "/link").c_str()), 0);
  repo.commit("topic");
  git(repo.folder(), {"checkout", "-q", "main"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(checkOut("topic")), "");
  const std::string action = worker.lastAction;
  EXPECT_EQ(branchNow(repo.folder()), "topic");
  EXPECT_TRUE(porcelain(repo.folder()).empty());
  EXPECT_EQ(worker.reconcile(action), schema::GitVerdict::SUCCEEDED);
  ASSERT_EQ(worker.rollback(action), "");
  EXPECT_EQ(branchNow(repo.folder()), "main");
  EXPECT_TRUE(porcelain(repo.folder()).empty());
  EXPECT_FALSE(World::exists(repo.folder() + "/more"));
  // And that, too, can be undone.
  ASSERT_EQ(worker.rollback(worker.lastAction), "");
  EXPECT_EQ(branchNow(repo.folder()), "topic");
  EXPECT_TRUE(porcelain(repo.folder()).empty());
}

// Many files are written after all of them have been looked at.
TEST(GitCheckout, AFileThatComesMeanwhileStays) {
  Repo repo;
  git(repo.folder(), {"checkout", "-q", "-b", "topic"});
  for (int i = 0; i < 2000; ++i) repo.write("d/f" + std::to_string(1000 + i), std::to_string(i));
  repo.write("zzz.txt", "theirs\n");
  repo.commit("topic");
  git(repo.folder(), {"checkout", "-q", "main"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  std::thread user([&repo]() {
    while (!World::exists(repo.folder() + "/d/f1000")) usleep(200);
    repo.write("zzz.txt", "mine\n");
  });
  const std::string denial = worker.change(checkOut("topic"));
  user.join();
  EXPECT_EQ(World::read(repo.folder() + "/zzz.txt"), "mine\n");
  EXPECT_TRUE(denial.empty() || denial == "would_overwrite/untracked/1") << denial;
}

TEST(GitCheckout, LosesNothing) {
  Repo repo;
  git(repo.folder(), {"checkout", "-q", "-b", "topic"});
  repo.write("new.txt", "theirs\n");
  repo.write("dir/file.txt", "theirs\n");
  repo.commit("topic");
  git(repo.folder(), {"checkout", "-q", "main"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  repo.write("new.txt", "mine, untracked\n");
  EXPECT_EQ(worker.change(checkOut("topic")), "would_overwrite/untracked/1");
  unlink((repo.folder() + "/new.txt").c_str());
  ASSERT_EQ(symlink(repo.broker.world.outside.c_str(), (repo.folder() + "/dir").c_str()), 0);
  EXPECT_EQ(worker.change(checkOut("topic")), "scope_violation/parent_is_a_link");
  EXPECT_FALSE(World::exists(repo.broker.world.outside + "/file.txt"));
  unlink((repo.folder() + "/dir").c_str());
  repo.write("kept.txt", "edited\n");
  EXPECT_EQ(worker.change(checkOut("topic")), "not_clean/working_tree/1");
  EXPECT_EQ(worker.change(checkOut("absent")), "not_found/branch");
  EXPECT_EQ(World::read(repo.folder() + "/kept.txt"), "edited\n");
  EXPECT_EQ(branchNow(repo.folder()), "main");
}

// Topic has another kept.txt, or none; main's is marked so that every status tells of it as unchanged.
struct Marked {
  explicit Marked(bool goes) {
    git(repo.folder(), {"checkout", "-q", "-b", "topic"});
    if (goes) {
      fs::remove(file);
    } else {
      repo.write("kept.txt", "topic\n");
    }
    repo.commit("topic");
    git(repo.folder(), {"checkout", "-q", "main"});
    git(repo.folder(), {"update-index", "--assume-unchanged", "kept.txt"});
  }
  // Refused as not clean, and marked as before.
  void mustBeInTheWay() {
    EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>()) << "the control";
    EXPECT_EQ(worker.change(checkOut("topic")), "not_clean/working_tree/1");
    EXPECT_EQ(branchNow(repo.folder()), "main");
    EXPECT_EQ(git(repo.folder(), {"ls-files", "-v", "kept.txt"}), "h kept.txt\n");
  }

  Repo repo;
  std::string file = repo.folder() + "/kept.txt";
  GitWorker worker{repo.broker, repo.folder(), Access::WRITE};
};

TEST(GitCheckout, WhatIsMarkedAsUnchangedAndIsNotStays) {
  for (const bool goes : {false, true}) {
    Marked marked(goes);
    marked.repo.write("kept.txt", "in no commit\n");
    marked.mustBeInTheWay();
    EXPECT_EQ(World::read(marked.file), "in no commit\n");
    fs::remove(marked.file);
    ASSERT_EQ(symlink("folder", marked.file.c_str()), 0);
    marked.mustBeInTheWay();
    EXPECT_TRUE(fs::is_symlink(marked.file));
    fs::remove(marked.file);
    marked.repo.write("kept.txt/mine", "in no commit\n");
    EXPECT_NE(marked.worker.change(checkOut("topic")), "");
    EXPECT_EQ(World::read(marked.file + "/mine"), "in no commit\n");
    EXPECT_EQ(branchNow(marked.repo.folder()), "main");
  }
}

TEST(GitCheckout, WhatIsMarkedAsUnchangedAndIsGoesAsAnyOther) {
  for (const bool goes : {false, true}) {
    Marked marked(goes);
    ASSERT_EQ(marked.worker.change(checkOut("topic")), "");
    EXPECT_EQ(World::exists(marked.file), !goes);
    ASSERT_EQ(marked.worker.rollback(marked.worker.lastAction), "");
    EXPECT_EQ(porcelain(marked.repo.folder()), std::vector<std::string>());
  }
  Marked marked(false);
  marked.repo.config("core.filemode", "false");
  chmod(marked.file.c_str(), 0755);
  GitWorker worker(marked.repo.broker, marked.repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.change(checkOut("topic")), "") << "its mode is the index's";
}

// One that the change does not touch keeps its edit and its mark.
TEST(GitCheckout, WhatIsMarkedAsUnchangedElsewhereIsLeftAlone) {
  Marked marked(false);
  git(marked.repo.folder(), {"update-index", "--assume-unchanged", "folder/inner.txt"});
  marked.repo.write("folder/inner.txt", "in no commit\n");
  ASSERT_EQ(marked.worker.change(checkOut("topic")), "");
  EXPECT_EQ(World::read(marked.repo.folder() + "/folder/inner.txt"), "in no commit\n");
  EXPECT_EQ(git(marked.repo.folder(), {"ls-files", "-v", "folder"}), "h folder/inner.txt\n");
}

// Main has a folder, topic a file or a link of that name; both ways, and back.
struct FolderAndFile {
  explicit FolderAndFile(const std::string& kind) {
    repo.write("x/a.txt", "a\n");
    repo.write("x/deep/b.txt", "b\n");
    repo.commit("folder");
    git(repo.folder(), {"checkout", "-q", "-b", "topic"});
    fs::remove_all(x());
    if (kind == "link") {
      EXPECT_EQ(symlink("folder", x().c_str()), 0);
    } else {
      repo.write("x", "a file\n");
    }
    repo.commit("file");
    git(repo.folder(), {"checkout", "-q", "main"});
  }

  [[nodiscard]] std::string x() const { return repo.folder() + "/x"; }
  void mustBeOn(const std::string& branch) const {
    EXPECT_EQ(branchNow(repo.folder()), branch);
    EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>());
    EXPECT_EQ(git(repo.folder(), {"write-tree"}), git(repo.folder(), {"rev-parse", branch + "^{tree}"}));
  }
  // Refused, and everything is as it was.
  void mustBeInTheWay(const std::string& branch, const std::string& files) {
    const auto before = porcelain(repo.folder());
    const std::string now = branchNow(repo.folder());
    EXPECT_EQ(worker.change(checkOut(branch)), "would_overwrite/untracked/" + files);
    EXPECT_EQ(porcelain(repo.folder()), before);
    EXPECT_EQ(branchNow(repo.folder()), now);
  }

  Repo repo;
  GitWorker worker{repo.broker, repo.folder(), Access::WRITE};
};

class GitCheckoutOf : public testing::TestWithParam<const char*> {};

TEST_P(GitCheckoutOf, AFolderThatBecomesThisGoesBothWaysAndIsUndone) {
  FolderAndFile tried(GetParam());
  auto& [repo, worker] = tried;
  ASSERT_EQ(worker.change(checkOut("topic")), "");
  tried.mustBeOn("topic");
  EXPECT_EQ(worker.reconcile(worker.lastAction), schema::GitVerdict::SUCCEEDED);
  const std::string there = worker.lastAction;
  ASSERT_EQ(worker.change(checkOut("main")), "");
  tried.mustBeOn("main");
  const std::string back = worker.lastAction;
  ASSERT_EQ(worker.rollback(back), "");
  tried.mustBeOn("topic");
  ASSERT_EQ(worker.rollback(there), "");
  tried.mustBeOn("main");
}

TEST_P(GitCheckoutOf, AFolderKeepsWhatIsNotTracked) {
  FolderAndFile tried(GetParam());
  auto& [repo, worker] = tried;
  repo.write(".git/info/exclude", "ignored\n");
  repo.write("x/deep/mine.txt", "mine\n");
  repo.write("x/deep/ignored", "mine, too\n");
  ASSERT_EQ(symlink("a.txt", (tried.x() + "/link").c_str()), 0);
  tried.mustBeInTheWay("topic", "3");
  EXPECT_EQ(World::read(tried.x() + "/deep/mine.txt"), "mine\n");
  EXPECT_EQ(World::read(tried.x() + "/deep/ignored"), "mine, too\n");
  EXPECT_EQ(World::read(tried.x() + "/a.txt"), "a\n");
  for (const char* name : {"/deep/mine.txt", "/link"}) fs::remove(tried.x() + name);
  tried.mustBeInTheWay("topic", "1");
  EXPECT_EQ(World::read(tried.x() + "/deep/ignored"), "mine, too\n") << "git itself would remove it";
  fs::remove(tried.x() + "/deep/ignored");
  fs::create_directories(tried.x() + "/empty/er");
  EXPECT_EQ(worker.change(checkOut("topic")), "") << "directories alone are nobody's, as to git";
  tried.mustBeOn("topic");
}

TEST_P(GitCheckoutOf, AFolderKeepsARepositoryWithin) {
  FolderAndFile tried(GetParam());
  auto& [repo, worker] = tried;
  git(repo.folder(), {"init", "-q", "x/own"});
  ASSERT_NE(worker.change(checkOut("topic")), "");
  EXPECT_TRUE(World::exists(tried.x() + "/own/.git/HEAD"));
  EXPECT_EQ(World::read(tried.x() + "/a.txt"), "a\n");
  EXPECT_EQ(branchNow(repo.folder()), "main");
}

// Undoing is a checkout, too.
TEST_P(GitCheckoutOf, AFolderKeepsWhatCameSinceFromARollback) {
  FolderAndFile tried(GetParam());
  auto& [repo, worker] = tried;
  git(repo.folder(), {"checkout", "-q", "topic"});
  ASSERT_EQ(worker.change(checkOut("main")), "");
  repo.write("x/mine.txt", "mine\n");
  EXPECT_EQ(worker.rollback(worker.lastAction), "would_overwrite/untracked/1");
  EXPECT_EQ(World::read(tried.x() + "/mine.txt"), "mine\n");
  EXPECT_EQ(World::read(tried.x() + "/a.txt"), "a\n");
  EXPECT_EQ(branchNow(repo.folder()), "main");
}

INSTANTIATE_TEST_SUITE_P(Kinds, GitCheckoutOf, testing::Values("file", "link"),
                         [](const auto& each) { return std::string(each.param); });

// A submodule has a directory, which git makes and whose content is its own.
TEST(GitCheckout, SubmodulesComeAndGoAsEmptyDirectories) {
  Repo repo;
  const std::string commit = tip(repo.folder());
  git(repo.folder(), {"checkout", "-q", "-b", "topic"});
  git(repo.folder(), {"update-index", "--add", "--cacheinfo", "160000," + commit + ",sub"});
  git(repo.folder(), {"rm", "-q", "kept.txt"});
  git(repo.folder(), {"update-index", "--add", "--cacheinfo", "160000," + commit + ",kept.txt"});
  git(repo.folder(), {"commit", "-q", "-m", "submodules"});
  git(repo.folder(), {"checkout", "-q", "main"});
  ASSERT_EQ(porcelain(repo.folder()), std::vector<std::string>());
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(checkOut("topic")), "");
  EXPECT_TRUE(fs::is_directory(repo.folder() + "/sub"));
  EXPECT_TRUE(fs::is_directory(repo.folder() + "/kept.txt"));
  EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>());
  repo.write("kept.txt/inside", "mine\n");
  EXPECT_EQ(worker.change(checkOut("main")), "would_overwrite/untracked/1");
  EXPECT_EQ(World::read(repo.folder() + "/kept.txt/inside"), "mine\n");
  fs::remove(repo.folder() + "/kept.txt/inside");
  repo.write("sub/inside", "mine\n");
  ASSERT_EQ(worker.change(checkOut("main")), "");
  EXPECT_EQ(branchNow(repo.folder()), "main");
  EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>{"?? sub/inside"}) << "kept, as by git";
}

// Main has files where topic has submodules, and a submodule that topic has not.
struct Exchanged {
  Exchanged() {
    const std::string commit = tip(repo.folder());
    repo.write("more/a.txt", "a\n");
    git(repo.folder(), {"add", "more"});
    git(repo.folder(), {"update-index", "--add", "--cacheinfo", "160000," + commit + ",gone"});
    git(repo.folder(), {"commit", "-q", "-m", "main"});
    git(repo.folder(), {"checkout", "-q", "-b", "topic"});
    git(repo.folder(), {"rm", "-q", "kept.txt", "more/a.txt", "gone"});
    for (const char* path : {"kept.txt", "more", "new"})
      git(repo.folder(), {"update-index", "--add", "--cacheinfo", "160000," + commit + "," + path});
    git(repo.folder(), {"commit", "-q", "-m", "submodules"});
    git(repo.folder(), {"checkout", "-q", "main"});
    before = filesOf();
    EXPECT_EQ(worker.change(checkOut("topic")), "");
    there = filesOf();
    EXPECT_NE(there, before);
  }
  [[nodiscard]] std::vector<std::string> filesOf() const {
    std::vector<std::string> files;
    for (auto each = fs::recursive_directory_iterator(repo.folder()); each != end(each); ++each) {
      if (each->path().filename() == ".git") {
        each.disable_recursion_pending();
      } else {
        files.push_back(each->path().string() + (each->is_directory() ? "/" : ""));
      }
    }
    std::ranges::sort(files);
    return files;
  }
  void mustBe(const std::string& branch, const std::vector<std::string>& files) const {
    EXPECT_EQ(branchNow(repo.folder()), branch);
    EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>());
    EXPECT_EQ(filesOf(), files);
  }

  Repo repo;
  GitWorker worker{repo.broker, repo.folder(), Access::WRITE};
  std::vector<std::string> before, there;
};

TEST(GitCheckout, FilesThatBecameSubmodulesComeBackByARollback) {
  Exchanged exchanged;
  const std::string action = exchanged.worker.lastAction;
  ASSERT_EQ(exchanged.worker.rollback(action), "");
  const std::string undone = exchanged.worker.lastAction;
  exchanged.mustBe("main", exchanged.before);
  EXPECT_EQ(exchanged.worker.rollback(action), "nothing_to_do/rollback");
  ASSERT_EQ(exchanged.worker.rollback(undone), "") << "and that is undone as well";
  exchanged.mustBe("topic", exchanged.there);
}

TEST(GitCheckout, ARollbackKeepsWhatCameIntoASubmodule) {
  Exchanged exchanged;
  const std::string action = exchanged.worker.lastAction;
  exchanged.repo.write("kept.txt/mine", "in no commit\n");
  EXPECT_EQ(exchanged.worker.rollback(action), "would_overwrite/untracked/1");
  fs::remove_all(exchanged.repo.folder() + "/kept.txt");
  exchanged.repo.write("kept.txt", "in no commit\n");
  EXPECT_EQ(exchanged.worker.rollback(action), "state_moved/files_have_changed_since/1");
  EXPECT_EQ(World::read(exchanged.repo.folder() + "/kept.txt"), "in no commit\n");
  EXPECT_EQ(branchNow(exchanged.repo.folder()), "topic");
  fs::remove(exchanged.repo.folder() + "/kept.txt");
  ASSERT_EQ(exchanged.worker.rollback(action), "") << "as where a crash came between the two";
  exchanged.mustBe("main", exchanged.before);
}

}  // namespace
}  // namespace factionos::test
