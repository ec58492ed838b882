// What mutates: carried out as git would see it, undone, and told after a crash.
#include <atomic>
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
  return [name](Change change) { change.initBranchCreate().setBranch(name.c_str()); };
}
TEST(GitChange, StageAndCommitAreWhatGitWouldMake) {
  Repo repo;
  repo.write("kept.txt", "changed\n");
  repo.write("script.sh", "#!/bin/sh\n", 0755);
  repo.write("folder/deep/new.txt", "new\n");
  ASSERT_EQ(symlink("kept.txt", (repo.folder() + "/link").c_str()), 0);
  unlink((repo.folder() + "/folder/inner.txt").c_str());
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.denial, "");
  EXPECT_EQ(worker.stageAll(), "");
  EXPECT_EQ(worker.files, 5u);
  EXPECT_EQ(worker.status(), porcelain(repo.folder()));
  const std::string ours = git(repo.folder(), {"write-tree"});
  git(repo.folder(), {"add", "-A"});
  EXPECT_EQ(git(repo.folder(), {"write-tree"}), ours);
  EXPECT_EQ(worker.commitAs("second\n\nwith a body\n"), "");
  EXPECT_EQ(worker.commit, tip(repo.folder()));
  EXPECT_EQ(git(repo.folder(), {"log", "-1", "--format=%B%an %ae"}),
            "second\n\nwith a body\nGrace Hopper grace@example.org\n");
  EXPECT_TRUE(porcelain(repo.folder()).empty());
  git(repo.folder(), {"fsck", "--strict"});
}

TEST(GitChange, UnstageGivesTheIndexBack) {
  Repo repo;
  repo.write("kept.txt", "changed\n");
  repo.write("new.txt", "new\n");
  git(repo.folder(), {"add", "-A"});
  git(repo.folder(), {"mv", "folder/inner.txt", "folder/moved.txt"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.change([](Change change) { change.initUnstage().setAll(true); }), "");
  EXPECT_EQ(git(repo.folder(), {"diff", "--cached", "--name-only"}), "");
  EXPECT_EQ(worker.status(), porcelain(repo.folder()));
  EXPECT_EQ(worker.change([](Change change) { change.initUnstage().setAll(true); }), "nothing_to_do/unstage");
}

// G7 and P66 and G5: what is refused before libgit2 sees it.
TEST(GitChange, NamesThatAreNoneAreRefused) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  for (const char* name : {"-f",         "--output=/tmp/x",
                           "origin/-f",  "a..b",
                           "a@{1}",      "a b",
                           "a\x01",      "x.lock",
                           ".x",         "a//b",
                           "/a",         "a/",
                           "@",          "a~1",
                           "a^",         "a:b",
                           "a?",         "a*",
                           "a[",         "a\\b",
                           "HEAD^{tree}"}) {
    EXPECT_EQ(worker.prepare(createBranch(name)), "invalid/branch") << name;
    EXPECT_EQ(worker.prepare(checkOut(name)), "invalid/branch") << name;
    auto show = worker.repository.showRequest();
    show.initRequest().setCommit(name);
    EXPECT_TRUE(worker.call(show).hasDenial()) << name;
  }
  EXPECT_EQ(worker.prepare(createBranch("HEAD")), "invalid/branch") << "everything would take it for HEAD";
  for (const char* path : {"../x", "/etc/passwd", "a/../b", "./a", "a//b", "a/."})
    EXPECT_EQ(worker.stage({path}), "scope_violation/path") << path;
  for (const char* path : {".git/config", ".GIT/config", "a/.git/x", ".git./x", ".git /x"})
    EXPECT_EQ(worker.stage({path}), "scope_violation/git_directory") << path;
  EXPECT_FALSE(World::exists("/tmp/x"));
}

// Some file system would take it for .git: git takes it nowhere, and nothing is staged beside it.
TEST(GitChange, AFileNameThatGitRefusesIsNamedAndStagesNothing) {
  Repo repo;
  repo.write("GIT~1", "x");
  repo.write("plain", "x");
  EXPECT_NE(runIn(repo.folder(), {"git", "add", "-A"}).status, 0) << "the control";
  GitWorker worker(repo.broker, repo.folder(), GitWorker::Access::WRITE);
  EXPECT_EQ(worker.stageAll(), "invalid/file_name");
  EXPECT_EQ(porcelain(repo.folder()), (std::vector<std::string>{"?? GIT~1", "?? plain"}));
  EXPECT_EQ(worker.stage({"plain"}), "");
}

TEST(GitChange, APathThroughALinkIsRefused) {
  Repo repo;
  repo.broker.world.write(repo.broker.world.outside + "/secret.txt", "secret\n");
  ASSERT_EQ(symlink(repo.broker.world.outside.c_str(), (repo.folder() + "/link").c_str()), 0);
  ASSERT_EQ(symlink("folder", (repo.folder() + "/inner").c_str()), 0);
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.stage({"link/secret.txt"}), "scope_violation/parent_is_a_link");
  EXPECT_EQ(worker.stage({"inner/inner.txt"}), "scope_violation/parent_is_a_link");
  EXPECT_EQ(worker.stage({"link"}), "");  // the link itself is a file
  EXPECT_EQ(git(repo.folder(), {"ls-files", "-s", "link"}).substr(0, 6), "120000");
}

// As by git: what was tracked below it is gone, and only who asks for that by its name is told of the link.
TEST(GitChange, AFolderThatBecameALinkIsStagedAsOne) {
  Repo repo;
  const std::string& folder = repo.folder();
  repo.write("folder/deep/other.txt", "x");
  repo.commit("more");
  std::filesystem::rename(folder + "/folder", folder + "/moved");
  std::filesystem::create_directory_symlink("moved", folder + "/folder");
  repo.write("kept.txt", "changed as well\n");
  const auto before = porcelain(folder);
  git(folder, {"add", "-A"});
  const auto theirs = git(folder, {"ls-files", "-s"});
  git(folder, {"reset", "-q"});
  GitWorker worker(repo.broker, folder, Access::WRITE);
  EXPECT_EQ(worker.stage({"folder/inner.txt"}), "scope_violation/parent_is_a_link");
  EXPECT_EQ(porcelain(folder), before);
  ASSERT_EQ(worker.stageAll(), "");
  EXPECT_EQ(git(folder, {"ls-files", "-s"}), theirs);
  ASSERT_EQ(worker.rollback(worker.lastAction), "");
  EXPECT_EQ(porcelain(folder), before);
  ASSERT_EQ(worker.stage({"folder"}), "");
  EXPECT_EQ(git(folder, {"ls-files", "-s", "folder"}).substr(0, 6), "120000");
  EXPECT_EQ(git(folder, {"ls-files", "moved"}), "");
}

// G12.
TEST(GitChange, AFilteredPathIsNeverStored) {
  Repo repo;
  repo.write(".gitattributes", "*.bin filter=lfs\n*.utf filter=odd\n*.enc working-tree-encoding=UTF-16\n");
  repo.write("big.bin", "raw\n");
  repo.write("a.utf", "raw\n");
  repo.write("a.enc", "raw\n");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  for (const char* path : {"big.bin", "a.utf", "a.enc"})
    EXPECT_EQ(worker.stage({path}), "filter_attribute/stage");
  EXPECT_EQ(worker.stageAll(), "filter_attribute/stage");
  EXPECT_EQ(worker.stage({".gitattributes"}), "");
  EXPECT_EQ(git(repo.folder(), {"ls-files", "*.bin"}), "");
}

// G17.
TEST(GitChange, WhatWasPreviewedIsWhatRuns) {
  Repo repo;
  repo.write("kept.txt", "changed\n");
  git(repo.folder(), {"add", "kept.txt"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  const auto commit = [](Change change) { change.initCommit().setMessage("mine"); };
  ASSERT_EQ(worker.prepare(commit), "");
  git(repo.folder(), {"commit", "-q", "-m", "theirs"});
  const std::string theirs = tip(repo.folder());
  repo.write("kept.txt", "changed again\n");
  git(repo.folder(), {"add", "kept.txt"});
  EXPECT_EQ(worker.run(commit), "state_moved/head_index_or_files");
  EXPECT_EQ(tip(repo.folder()), theirs);
  EXPECT_EQ(git(repo.folder(), {"for-each-ref", "refs/factionos"}), "");

  const auto stage = [](Change change) { change.initStage().setAll(true); };
  repo.write("other.txt", "one\n");
  ASSERT_EQ(worker.prepare(stage), "");
  repo.write("other.txt", "two\n");
  EXPECT_EQ(worker.run(stage), "state_moved/head_index_or_files");
  EXPECT_EQ(git(repo.folder(), {"ls-files", "other.txt"}), "");
}

// G18.
TEST(GitChange, AMessageIsStoredExactlyOrRefused) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  const std::string message = "-m \x1b[31mred\n\n  indented \nTrailer: yes\n# no comment\n\n\n";
  const auto commit = [&message](Change change) {
    auto request = change.initCommit();
    request.setMessage(message.c_str());
    request.setAllowEmpty(true);
  };
  ASSERT_EQ(worker.change(commit), "");
  const std::string raw = git(repo.folder(), {"cat-file", "commit", "HEAD"});
  EXPECT_EQ(raw.substr(raw.find("\n\n") + 2), message);
  EXPECT_EQ(worker.commitAs(std::string("a\0b", 3)), "invalid/message_nul");
  EXPECT_EQ(worker.commitAs(" \n"), "invalid/message_empty");
  EXPECT_EQ(worker.commitAs("nothing"), "nothing_to_do/commit");
}

TEST(GitChange, CommitRefusesWhatItCannotDo) {
  Repo repo;
  repo.write("kept.txt", "changed\n");
  git(repo.folder(), {"add", "-A"});
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.prepare([](Change change) {
    auto commit = change.initCommit();
    commit.setMessage("signed");
    commit.setSign(true);
  }),
            "unavailable/signing_needs_a_program");
  EXPECT_EQ(worker.prepare([](Change change) {
    auto commit = change.initCommit();
    commit.setMessage("m");
    commit.setAuthorName("a <b");
    commit.setAuthorEmail("c");
  }),
            "invalid/author");
  git(repo.folder(), {"checkout", "-q", "-b", "other"});
  git(repo.folder(), {"commit", "-q", "-m", "other"});
  git(repo.folder(), {"checkout", "-q", "main"});
  repo.write("kept.txt", "conflicting\n");
  repo.commit("main");
  runIn(repo.folder(), {"git", "merge", "other"});
  EXPECT_EQ(worker.commitAs("m"), "underway/merge_or_rebase");
  EXPECT_EQ(worker.status(), porcelain(repo.folder()));
}

TEST(GitChange, RollbackUndoesEachAndNeverWhatSomebodyElseDid) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  const std::string first = tip(repo.folder());
  ASSERT_EQ(worker.change(createBranch("topic")), "");
  const std::string branch = worker.lastAction;
  repo.write("kept.txt", "changed\n");
  repo.write("new.txt", "new\n");
  ASSERT_EQ(worker.stageAll(), "");
  const std::string staged = worker.lastAction;
  ASSERT_EQ(worker.rollback(staged), "");
  EXPECT_EQ(git(repo.folder(), {"diff", "--cached", "--name-only"}), "");
  EXPECT_EQ(World::read(repo.folder() + "/kept.txt"),
            "changed\n");  // the files themselves were never touched
  ASSERT_EQ(worker.stageAll(), "");
  ASSERT_EQ(worker.commitAs("second"), "");
  const std::string committed = worker.lastAction;
  ASSERT_EQ(worker.rollback(committed), "");
  EXPECT_EQ(tip(repo.folder()), first);
  EXPECT_EQ(git(repo.folder(), {"diff", "--cached", "--name-only"}), "kept.txt\nnew.txt\n");
  ASSERT_EQ(worker.rollback(branch), "");
  EXPECT_EQ(git(repo.folder(), {"branch", "--list", "topic"}), "");

  ASSERT_EQ(worker.commitAs("third"), "");
  const std::string third = worker.lastAction;
  git(repo.folder(), {"commit", "-q", "--allow-empty", "-m", "by somebody else"});
  EXPECT_EQ(worker.rollback(third), "state_moved/refs_have_moved_on/1");
  EXPECT_EQ(worker.reconcile(third), schema::GitVerdict::SUCCEEDED);
  EXPECT_EQ(worker.rollback("act_00000000000000000000999999"), "not_found/snapshot");
  EXPECT_EQ(worker.reconcile("act_00000000000000000000999999"), schema::GitVerdict::FAILED);
}

// The references lie where a command can write; what is undone is what the broker remembers.
TEST(GitChange, ASnapshotThatSomebodyElseMadeUndoesNothing) {
  Repo repo;
  const auto forged = [&](const std::string& lines) {
    repo.write(".git/forged", "factionos change 1 branch-create\n" + lines);
    const std::string blob = git(repo.folder(), {"hash-object", "-w", ".git/forged"}).substr(0, 40);
    repo.write(".git/forged", "100644 blob " + blob + "\tchange\n");
    return runIn(repo.folder(), {"sh", "-c", "git mktree < .git/forged"}).output.substr(0, 40);
  };
  const std::string hook = git(repo.folder(), {"rev-parse", "HEAD:kept.txt"}).substr(0, 40);
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.change(createBranch("topic")), "");
  const std::string branch = worker.lastAction;
  // What it would do, were it believed: the control.
  const std::string planted = forged("file planted 33261:" + hook + " -\n");
  ASSERT_EQ(worker.rollbackBy(branch, planted), "");
  EXPECT_TRUE(World::exists(repo.folder() + "/planted"));
  const std::string moved = forged("file moved 33261:" + hook + " -\n");
  git(repo.folder(), {"update-ref", "refs/factionos/" + branch + "/change", moved});
  ASSERT_EQ(worker.rollback(branch), "");
  EXPECT_FALSE(World::exists(repo.folder() + "/moved"));
  EXPECT_EQ(git(repo.folder(), {"branch", "--list", "topic"}), "");
  for (const char* line : {"file .git/hooks/pre-commit 33261:", "file ../x 33261:", "file a/.GIT/x 33261:"})
    EXPECT_EQ(worker.rollbackBy(branch, forged(line + hook + " -\n")),
              "repository_refused/snapshot_unreadable");
  for (const char* line : {"worktree remove hk .git/hooks ref%3A%20refs/heads/main\n",
                           "ref refs/heads/../../hooks/x - 0123456789012345678901234567890123456789\n"})
    EXPECT_EQ(worker.rollbackBy(branch, forged(line)), "repository_refused/snapshot_unreadable") << line;
  EXPECT_EQ(worker.rollbackBy(branch, ""), "not_found/snapshot");
  EXPECT_EQ(worker.rollbackBy(branch, std::string(40, 'a')), "not_found/snapshot");
}

// G8.
TEST(GitChange, AStaleLockIsToldAndLeftAlone) {
  Repo repo;
  repo.write("kept.txt", "changed\n");
  repo.write(".git/index.lock", "");
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  const std::string denial = worker.stageAll();
  EXPECT_EQ(denial.substr(0, denial.rfind('/')), "locked/index_lock");
  EXPECT_TRUE(World::exists(repo.folder() + "/.git/index.lock"));
  EXPECT_EQ(worker.reconcile("act_00000000000000000000000001"), schema::GitVerdict::FAILED);
  EXPECT_TRUE(World::exists(repo.folder() + "/.git/index.lock"));
  EXPECT_EQ(worker.status(), porcelain(repo.folder()));  // reads need no lock
  // One that was ours goes with its action.
  repo.write(".git/index.lock", "factionos act_00000000000000000000000001\n");
  EXPECT_EQ(worker.reconcile("act_00000000000000000000000001"), schema::GitVerdict::FAILED);
  EXPECT_FALSE(World::exists(repo.folder() + "/.git/index.lock"));
  EXPECT_EQ(worker.stageAll(), "");
}

// G8: what reads is never in the way of the user's own git.
TEST(GitChange, StatusNeverHoldsTheUsersLock) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder());
  std::atomic<bool> stop = false;
  std::atomic<int> failed = 0;
  std::thread user([&]() {
    for (int i = 0; i < 50; ++i) {
      if (runIn(repo.folder(), {"git", "commit", "-q", "--allow-empty", "-m", "x"}).status != 0) ++failed;
      if (runIn(repo.folder(), {"git", "add", "-A"}).status != 0) ++failed;
    }
    stop = true;
  });
  int asked = 0;
  while (!stop) {
    worker.status();
    EXPECT_EQ(worker.lastDenial, "");
    ++asked;
  }
  user.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(asked, 10);
}

// P69.
TEST(GitChange, ALinkedWorktreeCommitsAndItsMainRepositoryStaysAsItIs) {
  Repo repo;
  const std::string tree = repo.broker.world.outside + "/tree";
  git(repo.folder(), {"worktree", "add", "-q", tree, "-b", "topic"});
  const std::string config = World::read(repo.folder() + "/.git/config");
  const std::string main = tip(repo.folder());
  repo.broker.world.write(tree + "/kept.txt", "changed\n");
  GitWorker worker(repo.broker, tree, Access::WRITE, {repo.folder()});
  ASSERT_EQ(worker.denial, "");
  ASSERT_EQ(worker.stageAll(), "");
  ASSERT_EQ(worker.commitAs("in the worktree"), "");
  EXPECT_EQ(tip(tree), worker.commit);
  EXPECT_EQ(tip(repo.folder(), "topic"), worker.commit);
  EXPECT_EQ(tip(repo.folder()), main);
  EXPECT_EQ(World::read(repo.folder() + "/.git/config"), config);
  EXPECT_TRUE(porcelain(repo.folder()).empty());
  EXPECT_EQ(worker.change(checkOut("main")), "exists/checked_out_elsewhere");
}

TEST(GitChange, WorktreesComeAndGo) {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  const auto add = [](Change change) {
    auto request = change.initWorktreeAdd();
    request.setName("side");
    request.setDirectory("trees/side");
  };
  const auto remove = [](Change change) { change.initWorktreeRemove().setName("side"); };
  ASSERT_EQ(worker.change(add), "");
  const std::string added = worker.lastAction;
  const std::string tree = repo.folder() + "/trees/side";
  EXPECT_EQ(branchNow(tree), "side");
  EXPECT_TRUE(porcelain(tree).empty());
  EXPECT_NE(git(repo.folder(), {"worktree", "list"}).find("trees/side"), std::string::npos);
  EXPECT_EQ(worker.change(add), "exists/directory");
  repo.write("trees/side/new.txt", "mine\n");
  EXPECT_EQ(worker.change(remove), "not_clean/worktree/1");
  EXPECT_EQ(worker.rollback(added), "not_clean/worktree/1");
  unlink((tree + "/new.txt").c_str());
  ASSERT_EQ(worker.change(remove), "");
  const std::string removed = worker.lastAction;
  EXPECT_FALSE(World::exists(tree));
  ASSERT_EQ(worker.rollback(removed), "");
  EXPECT_TRUE(porcelain(tree).empty());
  git(repo.folder(), {"fsck", "--strict"});
}

TEST(GitChange, FetchAndPushGoByPathAlone) {
  Repo repo;
  const std::string other = repo.broker.world.outside + "/other.git";
  git(repo.folder(), {"clone", "-q", "--bare", ".", other});
  const std::string work = repo.broker.world.outside + "/work";
  git(repo.broker.world.outside, {"clone", "-q", other, work});
  repo.broker.world.write(work + "/theirs.txt", "theirs\n");
  git(work, {"add", "-A"});
  git(work, {"commit", "-q", "-m", "theirs"});
  git(work, {"push", "-q", "origin", "main"});
  git(repo.folder(), {"remote", "add", "origin", other});
  git(repo.folder(), {"remote", "add", "far", "https://example.org/x.git"});
  const auto fetch = [](Change change) { change.initFetch(); };
  const auto push = [](Change change) { change.initPush(); };
  {
    GitWorker alone(repo.broker, repo.folder(), Access::WRITE);
    EXPECT_EQ(alone.change(fetch), "unavailable/remote_is_not_local");
  }
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE, {other});
  EXPECT_EQ(worker.change([](Change change) { change.initFetch().setRemote("far"); }),
            "unavailable/remote_is_not_local");
  EXPECT_EQ(worker.change([](Change change) { change.initFetch().setRemote("--upload-pack=x"); }),
            "invalid/remote");
  ASSERT_EQ(worker.change(fetch), "");
  EXPECT_EQ(tip(repo.folder(), "origin/main"), tip(work));
  git(repo.folder(), {"fsck", "--strict"});
  ASSERT_EQ(worker.rollback(worker.lastAction), "");

  git(repo.folder(), {"merge", "-q", "--ff-only", tip(work)});
  repo.write("mine.txt", "mine\n");
  repo.commit("mine");
  // A worker that was not started to push can't write the remote.
  EXPECT_NE(worker.change(push), "");
  EXPECT_EQ(tip(other, "main"), tip(work));
  GitWorker pusher(repo.broker, repo.folder(), Access::PUSH, {other});
  ASSERT_EQ(pusher.change(push), "");
  EXPECT_EQ(tip(other, "main"), tip(repo.folder()));
  git(other, {"fsck", "--strict"});
  EXPECT_EQ(pusher.rollback(pusher.lastAction), "unavailable/a_push_cannot_be_called_back");
  git(repo.folder(), {"commit", "-q", "--amend", "-m", "rewritten"});
  EXPECT_EQ(pusher.change(push), "not_forward/push");
}

TEST(GitChange, WhatIsKnownOfAnActionIsToldWhereItCannotBeNoted) {
  Repo repo;
  const std::string other = repo.broker.world.outside + "/other.git";
  git(repo.folder(), {"clone", "-q", "--bare", ".", other});
  git(repo.folder(), {"remote", "add", "origin", other});
  repo.write("mine.txt", "mine\n");
  repo.commit("mine");
  GitWorker worker(repo.broker, repo.folder(), Access::PUSH, {other});
  std::vector<std::string> actions;
  ASSERT_EQ(worker.change(createBranch("topic")), "");
  actions.push_back(worker.lastAction);
  ASSERT_EQ(worker.change([](Change change) { change.initPush(); }), "");
  actions.push_back(worker.lastAction);
  for (const std::string& action : actions) {
    const std::string done = ".git/refs/factionos/" + action + "/done";
    unlink((repo.folder() + "/" + done).c_str());
    repo.write(done + ".lock", "somebody's");
    EXPECT_EQ(worker.reconcile(action), schema::GitVerdict::SUCCEEDED);
    EXPECT_FALSE(World::exists(repo.folder() + "/" + done));
    unlink((repo.folder() + "/" + done + ".lock").c_str());
  }
  ASSERT_EQ(worker.reconcile(actions.back()), schema::GitVerdict::SUCCEEDED);
  git(repo.folder(), {"remote", "remove", "origin"});
  GitWorker later(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(later.reconcile(actions.back()), schema::GitVerdict::SUCCEEDED) << "it is noted";
}

TEST(GitChange, AReaderCannotWrite) {
  Repo repo;
  repo.write("kept.txt", "changed\n");
  GitWorker worker(repo.broker, repo.folder(), Access::READ);
  ASSERT_EQ(worker.prepare([](Change change) { change.initStage().setAll(true); }), "");
  EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>{".M kept.txt"});
}

}  // namespace
}  // namespace factionos::test
