// Somebody edits, moves or stages beside a change, between its plan and its last write: what is his stays.
#include <filesystem>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include "git_harness.h"
#include "sandbox/descriptors.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;
using Access = GitWorker::Access;

// Topic brings many files, and changes or takes the last one, which is `zzz.txt`.
struct Long {
  explicit Long(const char* theirs) {
    repo.write("zzz.txt", "before\n");
    repo.commit("zzz");
    git(repo.folder(), {"checkout", "-q", "-b", "topic"});
    for (int i = 0; i < 1000; ++i) repo.write("d/f" + std::to_string(1000 + i), std::to_string(i));
    fs::remove(file);
    if (theirs != nullptr) repo.write("zzz.txt", theirs);
    repo.commit("topic");
    git(repo.folder(), {"checkout", "-q", "main"});
  }
  // What a checkout says in the midst of which `act` is done.
  std::string checkedOutBeside(const std::function<void()>& act) {
    GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
    std::jthread user([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && !World::exists(repo.folder() + "/d/f1000")) usleep(200);
      act();
    });
    return worker.change(checkOut("topic"));
  }

  Repo repo;
  std::string file = repo.folder() + "/zzz.txt";
};

// Where the checkout was faster, the edit is of the new file: it stays as well.
void expectEdited(const std::string& denial) {
  EXPECT_TRUE(denial.empty() || denial == "would_overwrite/edited/1") << denial;
}

TEST(GitMeanwhile, AFileThatIsEditedStays) {
  Long tried("theirs\n");
  expectEdited(tried.checkedOutBeside([&]() { tried.repo.write("zzz.txt", "mine\n"); }));
  EXPECT_EQ(World::read(tried.file), "mine\n");
}

TEST(GitMeanwhile, AFileThatIsEditedToTheSameSizeStays) {
  Long tried("theirs\n");
  expectEdited(tried.checkedOutBeside([&]() { tried.repo.write("zzz.txt", "BEFORE\n"); }));
  EXPECT_EQ(World::read(tried.file), "BEFORE\n");
}

TEST(GitMeanwhile, AFileThatIsTouchedGoesItsWay) {
  Long tried("theirs\n");
  EXPECT_EQ(tried.checkedOutBeside([&]() { utimes(tried.file.c_str(), nullptr); }), "");
  EXPECT_EQ(World::read(tried.file), "theirs\n");
  EXPECT_EQ(porcelain(tried.repo.folder()), std::vector<std::string>());
}

// Two names of one file: as one of them goes, the other's time of change does not stay.
TEST(GitMeanwhile, TwoNamesOfOneFileAreBothReplaced) {
  Repo repo;
  repo.write("a.txt", "before\n");
  repo.write("b.txt", "before\n");
  repo.commit("two");
  git(repo.folder(), {"checkout", "-q", "-b", "topic"});
  repo.write("a.txt", "theirs\n");
  repo.write("b.txt", "theirs\n");
  repo.commit("topic");
  git(repo.folder(), {"checkout", "-q", "main"});
  fs::remove(repo.folder() + "/b.txt");
  fs::create_hard_link(repo.folder() + "/a.txt", repo.folder() + "/b.txt");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.change(checkOut("topic")), "");
  EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>());
  EXPECT_EQ(worker.rollback(worker.lastAction), "");
  EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>());
}

TEST(GitMeanwhile, AFileThatComesIntoANewWorktreeStays) {
  Long tried("theirs\n");
  GitWorker worker(tried.repo.broker, tried.repo.folder(), Access::WRITE);
  std::string denial;
  {
    const std::jthread user([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && !World::exists(tried.repo.folder() + "/side/d/f1000")) usleep(200);
      tried.repo.write("side/zzz.txt", "mine\n");
    });
    denial = worker.change(addTree("side", "side", "topic"));
  }
  EXPECT_TRUE(denial.empty() || denial == "would_overwrite/untracked/1") << denial;
  EXPECT_EQ(World::read(tried.repo.folder() + "/side/zzz.txt"), "mine\n");
  EXPECT_EQ(World::exists(tried.repo.folder() + "/side/.git"), denial.empty());
  EXPECT_EQ(World::exists(tried.repo.folder() + "/side/d"), denial.empty());
}

// It was judged, and is not gone yet: the snapshot is made in between.
TEST(GitMeanwhile, AnEditInAWorktreeThatGoesStays) {
  constexpr int kTries = 10;
  int inTime = 0;
  for (int i = 0; i < kTries; ++i) {
    Repo repo;
    git(repo.folder(), {"worktree", "add", "-q", "side"});
    const std::string file = repo.folder() + "/side/kept.txt";
    GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
    bool isWritten = false;
    {
      const std::jthread user([&](const std::stop_token& stop) {
        while (!stop.stop_requested() && !World::exists(repo.folder() + "/.git/refs/factionos")) usleep(20);
        const sandbox::Fd open(::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
        if (!open || ::write(open.get(), "mine\n", 5) != 5) return;
        isWritten = World::exists(file);  // by its own name still
      });
      const std::string denial = worker.change(removeTree("side"));
      EXPECT_TRUE(denial.empty() || denial == "not_clean/worktree/1") << denial;
    }
    if (!isWritten) continue;
    ++inTime;
    EXPECT_EQ(World::read(file), "mine\n");
    EXPECT_EQ(porcelain(repo.folder() + "/side"), std::vector<std::string>{".M kept.txt"});
    EXPECT_EQ(worker.reconcile(worker.lastAction), schema::GitVerdict::FAILED);
  }
  RecordProperty("edits in time", inTime);
}

// What a worker that died has taken away: it lies beside its place, by the name that its action gives it.
struct Taken {
  Taken() {
    repo.write("zzz.txt", "before\n");
    repo.commit("zzz");
    git(repo.folder(), {"checkout", "-q", "-b", "topic"});
    repo.write("zzz.txt", "theirs\n");
    repo.commit("topic");
    git(repo.folder(), {"checkout", "-q", "main"});
    EXPECT_EQ(worker.change(checkOut("topic")), "");
    // BLAKE2b of "zzz.txt", 16 bytes.
    aside = ".factionos-" + worker.lastAction + "-was-" + kDigits;
  }
  static constexpr const char* kDigits = "2edc4bd69580f503ada87794f8c4eb6b";
  void reconcileWith(const std::string& text) {
    repo.write(aside, text);
    fs::remove(repo.folder() + "/.git/refs/factionos/" + worker.lastAction + "/done");
    worker.reconcile(worker.lastAction);
  }
  [[nodiscard]] std::string whatIsAside() const {
    const std::string path = repo.folder() + "/" + aside;
    return World::exists(path) ? World::read(path) : "nothing";
  }

  Repo repo;
  GitWorker worker{repo.broker, repo.folder(), Access::WRITE};
  std::string file = repo.folder() + "/zzz.txt";
  std::string aside;
};

TEST(GitMeanwhile, WhatAWorkerThatDiedHadTakenAwayComesBackOrStays) {
  Taken taken;
  for (const char* ofACommit : {"before\n", "theirs\n"}) {
    taken.reconcileWith(ofACommit);
    EXPECT_EQ(taken.whatIsAside(), "nothing");
    EXPECT_EQ(World::read(taken.file), "theirs\n");
  }
  taken.reconcileWith("mine\n");
  EXPECT_EQ(taken.whatIsAside(), "mine\n") << "its name has another file by now";
  EXPECT_EQ(World::read(taken.file), "theirs\n");
  for (const char* text : {"mine\n", "before\n"}) {
    fs::remove(taken.file);
    taken.reconcileWith(text);
    EXPECT_EQ(taken.whatIsAside(), "nothing");
    EXPECT_EQ(World::read(taken.file), text);
  }
}

// What is behind a link is, to git, not there.
TEST(GitMeanwhile, AReconciliationBehindALinkIsNoQuestionForEver) {
  Repo repo;
  repo.write("d/a.txt", "a\n");
  repo.commit("d");
  git(repo.folder(), {"checkout", "-q", "-b", "topic"});
  repo.write("d/a.txt", "topic\n");
  repo.commit("topic");
  git(repo.folder(), {"checkout", "-q", "main"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(checkOut("topic")), "");
  fs::remove(repo.folder() + "/.git/refs/factionos/" + worker.lastAction + "/done");
  fs::rename(repo.folder() + "/d", repo.folder() + "/e");
  fs::create_symlink("e", repo.folder() + "/d");
  EXPECT_EQ(worker.reconcile(worker.lastAction), schema::GitVerdict::SUCCEEDED);
  EXPECT_EQ(World::read(repo.folder() + "/e/a.txt"), "topic\n");
}

TEST(GitMeanwhile, TheReconciliationOfARemovalBehindALinkIsNoQuestionForEver) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(addTree("side", "trees/side")), "");
  ASSERT_EQ(worker.change(removeTree("side")), "");
  fs::remove(repo.folder() + "/.git/refs/factionos/" + worker.lastAction + "/done");
  fs::rename(repo.folder() + "/trees", repo.folder() + "/elsewhere");
  fs::create_symlink("elsewhere", repo.folder() + "/trees");
  EXPECT_EQ(worker.reconcile(worker.lastAction), schema::GitVerdict::SUCCEEDED);
}

// Staged, or given back: a file and what lies below its name are not in one index.
struct FileOrFolder {
  FileOrFolder() {
    repo.write("x", "x\n");
    repo.commit("x");
    fs::remove(repo.folder() + "/x");
  }
  void mustBeWhole() const {
    EXPECT_EQ(git(repo.folder(), {"write-tree"}).size(), 41U);
    git(repo.folder(), {"fsck", "--strict"});
    const std::string tree =
        git(repo.folder(), {"ls-tree", "--name-only", git(repo.folder(), {"write-tree"}).substr(0, 40)});
    EXPECT_EQ(tree.find("x\n"), tree.rfind("x\n")) << tree;
  }
  [[nodiscard]] std::string files() const { return git(repo.folder(), {"ls-files", "x"}); }

  Repo repo;
  GitWorker worker{repo.broker, repo.folder(), Access::WRITE};
};

TEST(GitMeanwhile, ARollbackPutsNoFileBesideWhatWasStagedBelowItsName) {
  FileOrFolder tried;
  ASSERT_EQ(tried.worker.stage({"x"}), "");
  const std::string action = tried.worker.lastAction;
  tried.repo.write("x/b", "b\n");
  tried.repo.write("x/c", "c\n");
  git(tried.repo.folder(), {"add", "x/b", "x/c"});
  EXPECT_EQ(tried.worker.rollback(action), "state_moved/files_have_changed_since/2");
  EXPECT_EQ(tried.files(), "x/b\nx/c\n");
  tried.mustBeWhole();
  git(tried.repo.folder(), {"rm", "-q", "--cached", "x/b", "x/c"});
  EXPECT_EQ(tried.worker.rollback(action), "") << "the control";
  EXPECT_EQ(tried.files(), "x\n");
  tried.mustBeWhole();
}

TEST(GitMeanwhile, ARollbackPutsNothingBelowAFileThatWasStagedSince) {
  FileOrFolder tried;
  tried.repo.write("x/b", "b\n");
  ASSERT_EQ(tried.worker.stage({"x"}), "");
  git(tried.repo.folder(), {"commit", "-q", "-m", "folder"});
  fs::remove_all(tried.repo.folder() + "/x");
  ASSERT_EQ(tried.worker.stage({"x"}), "");
  const std::string action = tried.worker.lastAction;
  tried.repo.write("x", "x\n");
  git(tried.repo.folder(), {"add", "x"});
  EXPECT_EQ(tried.worker.rollback(action), "state_moved/files_have_changed_since/1");
  EXPECT_EQ(tried.files(), "x\n");
  tried.mustBeWhole();
}

TEST(GitMeanwhile, WhatIsStagedTakesWhatCannotBeBesideItAndBringsItBack) {
  FileOrFolder tried;
  const auto before = git(tried.repo.folder(), {"ls-files", "-s"});
  tried.repo.write("x/b", "b\n");
  ASSERT_EQ(tried.worker.stage({"x/b"}), "");
  EXPECT_EQ(tried.files(), "x/b\n") << "as by git";
  tried.mustBeWhole();
  ASSERT_EQ(tried.worker.rollback(tried.worker.lastAction), "");
  EXPECT_EQ(git(tried.repo.folder(), {"ls-files", "-s"}), before);
  git(tried.repo.folder(), {"add", "x/b"});
  git(tried.repo.folder(), {"commit", "-q", "-m", "folder"});
  fs::remove_all(tried.repo.folder() + "/x");
  tried.repo.write("x", "x\n");
  git(tried.repo.folder(), {"add", "x"});
  ASSERT_EQ(tried.worker.change([](auto change) { change.initUnstage().initFiles(1).set(0, "x/b"); }), "");
  EXPECT_EQ(tried.files(), "x/b\n") << "as by git reset -- x/b";
  tried.mustBeWhole();
  ASSERT_EQ(tried.worker.rollback(tried.worker.lastAction), "");
  EXPECT_EQ(tried.files(), "x\n");
}

// Two branches of one file, and a way to move one of them that no working tree is on.
struct TwoBranches {
  TwoBranches() {
    git(repo.folder(), {"checkout", "-q", "-b", "topic"});
    repo.write("kept.txt", "topic\n");
    repo.commit("topic");
    git(repo.folder(), {"checkout", "-q", "main"});
  }
  // As somebody else's commit, of another file.
  void moveOn(const std::string& branch) const {
    git(repo.folder(), {"worktree", "add", "-q", "other", branch});
    repo.write("other/more.txt", "more\n");
    git(repo.folder() + "/other", {"add", "more.txt"});
    git(repo.folder() + "/other", {"commit", "-q", "-m", "more"});
    git(repo.folder(), {"worktree", "remove", "other"});
  }

  Repo repo;
  GitWorker worker{repo.broker, repo.folder(), Access::WRITE};
};

TEST(GitMeanwhile, ARollbackOfACheckoutUndoesNoCommitThatCameSince) {
  for (const char* moves : {"main", "topic"}) {
    TwoBranches two;
    ASSERT_EQ(two.worker.change(checkOut("topic")), "");
    const std::string action = two.worker.lastAction;
    if (moves == std::string("main")) {
      two.moveOn("main");
    } else {
      two.repo.write("more.txt", "more\n");
      two.repo.commit("more");
    }
    EXPECT_EQ(two.worker.rollback(action), "state_moved/refs_have_moved_on/1") << moves;
    EXPECT_EQ(branchNow(two.repo.folder()), "topic");
    EXPECT_EQ(porcelain(two.repo.folder()), std::vector<std::string>());
    git(two.repo.folder(), {"update-ref", "refs/heads/" + std::string(moves), std::string(moves) + "^"});
    git(two.repo.folder(), {"reset", "-q", "--hard"});
    EXPECT_EQ(two.worker.rollback(action), "") << "the control";
    EXPECT_EQ(branchNow(two.repo.folder()), "main");
    EXPECT_EQ(porcelain(two.repo.folder()), std::vector<std::string>());
  }
}

TEST(GitMeanwhile, ARollbackOfACheckoutLeadsToNoBranchThatAnotherTreeIsOn) {
  TwoBranches two;
  ASSERT_EQ(two.worker.change(checkOut("topic")), "");
  const std::string action = two.worker.lastAction;
  git(two.repo.folder(), {"worktree", "add", "-q", "other", "main"});
  EXPECT_EQ(two.worker.rollback(action), "exists/checked_out_elsewhere");
  git(two.repo.folder(), {"worktree", "remove", "other"});
  EXPECT_EQ(two.worker.rollback(action), "") << "the control";
}

TEST(GitMeanwhile, ABranchThatMovesWhileItIsCheckedOutIsNotWhatWasWritten) {
  Long tried("theirs\n");
  const std::string moved =
      git(tried.repo.folder(), {"commit-tree", "-p", "topic", "-m", "moved", "main^{tree}"});
  bool inTime = false;
  const std::string denial = tried.checkedOutBeside([&]() {
    git(tried.repo.folder(), {"update-ref", "refs/heads/topic", moved.substr(0, 40)});
    inTime = branchNow(tried.repo.folder()) == "main";
  });
  EXPECT_EQ(denial, inTime ? "state_moved/ref_moved" : "");
  EXPECT_EQ(branchNow(tried.repo.folder()), inTime ? "main" : "topic");
  const std::string staged = git(tried.repo.folder(), {"diff", "--cached", "--name-only"});
  EXPECT_TRUE(staged.empty() || !inTime) << staged;
}

// git deletes no such branch either: who is on it would be on none.
TEST(GitMeanwhile, ARollbackRemovesNoBranchThatIsCheckedOut) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change([](auto change) { change.initBranchCreate().setBranch("topic"); }), "");
  const std::string action = worker.lastAction;
  git(repo.folder(), {"checkout", "-q", "topic"});
  EXPECT_EQ(worker.rollback(action), "exists/checked_out_here");
  git(repo.folder(), {"checkout", "-q", "main"});
  git(repo.folder(), {"worktree", "add", "-q", "other", "topic"});
  EXPECT_EQ(worker.rollback(action), "exists/checked_out_elsewhere");
  EXPECT_EQ(tip(repo.folder(), "topic"), tip(repo.folder(), "main"));
  git(repo.folder(), {"worktree", "remove", "other"});
  EXPECT_EQ(worker.rollback(action), "") << "the control";
  ASSERT_EQ(worker.change(addTree("side", "side", "side")), "");
  const std::string added = worker.lastAction;
  git(repo.folder(), {"worktree", "remove", "side"});
  git(repo.folder(), {"worktree", "add", "-q", "other", "side"});
  EXPECT_EQ(worker.rollback(added), "exists/checked_out_elsewhere");
  EXPECT_EQ(tip(repo.folder(), "side"), tip(repo.folder(), "main"));
  git(repo.folder(), {"worktree", "remove", "other"});
  EXPECT_EQ(worker.rollback(added), "");
  EXPECT_EQ(git(repo.folder(), {"branch", "--list", "side"}), "");
}

TEST(GitMeanwhile, ARollbackOfTheFirstCommitLeavesNone) {
  Repo repo;
  git(repo.folder(), {"update-ref", "-d", "refs/heads/main"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.commitAs("first"), "");
  EXPECT_EQ(worker.rollback(worker.lastAction), "");
  EXPECT_NE(runIn(repo.folder(), {"git", "rev-parse", "--verify", "HEAD"}).status, 0);
  EXPECT_EQ(git(repo.folder(), {"ls-files", "kept.txt"}), "kept.txt\n");
}

// A pointer to another commit of the submodule is staged, and in no commit.
TEST(GitMeanwhile, AStagedPointerToASubmodulesCommitStays) {
  Repo repo;
  const std::string first = tip(repo.folder());
  const auto point = [&](const std::string& commit) {
    git(repo.folder(), {"update-index", "--add", "--cacheinfo", "160000," + commit + ",sub"});
  };
  git(repo.folder(), {"commit", "-q", "--allow-empty", "-m", "another"});
  const std::string second = tip(repo.folder());
  point(first);
  git(repo.folder(), {"commit", "-q", "-m", "first"});
  git(repo.folder(), {"checkout", "-q", "-b", "topic"});
  point(second);
  git(repo.folder(), {"commit", "-q", "-m", "second"});
  git(repo.folder(), {"checkout", "-q", "main"});
  git(repo.folder(), {"branch", "-q", "same"});
  git(repo.folder(), {"commit", "-q", "--allow-empty", "-m", "third"});
  point(tip(repo.folder()));
  const auto before = git(repo.folder(), {"ls-files", "-s"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.change(checkOut("topic")), "not_clean/working_tree/1");
  EXPECT_EQ(git(repo.folder(), {"ls-files", "-s"}), before);
  EXPECT_EQ(branchNow(repo.folder()), "main");
  EXPECT_EQ(worker.change(checkOut("same")), "") << "it is no part of this one, and goes along as with git";
  EXPECT_EQ(git(repo.folder(), {"ls-files", "-s"}), before);
  git(repo.folder(), {"reset", "-q"});
  EXPECT_EQ(worker.change(checkOut("topic")), "");
}

// A folder becomes a file: an empty one of a name that is never removed may lie in it.
TEST(GitMeanwhile, AnEmptyFolderOfAProtectedNameStays) {
  Repo repo;
  repo.write("x/deep/a.txt", "a\n");
  repo.commit("folder");
  git(repo.folder(), {"checkout", "-q", "-b", "topic"});
  fs::remove_all(repo.folder() + "/x");
  repo.write("x", "a file\n");
  repo.commit("file");
  git(repo.folder(), {"checkout", "-q", "main"});
  const std::string settings = repo.folder() + "/x/deep/.claude";
  fs::create_directory(settings);
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.change(checkOut("topic")), "path_protected/files/1");
  EXPECT_TRUE(World::exists(settings));
  EXPECT_EQ(World::read(repo.folder() + "/x/deep/a.txt"), "a\n");
  fs::remove(settings);
  EXPECT_EQ(worker.change(checkOut("topic")), "") << "the control";
}

}  // namespace
}  // namespace factionos::test
