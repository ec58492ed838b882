// What is staged, and so would be committed: told by status and card, and by a commit, as git has it.
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "git_harness.h"

namespace factionos::test {
namespace {

using Access = schema::RepositoryAccess;

// "insertions deletions path" of what is staged.
std::vector<std::string> stagedCounts(GitWorker& worker) {
  auto request = worker.repository.diffRequest();
  request.initRequest().setStaged(true);
  auto answer = worker.call(request);
  std::vector<std::string> lines;
  for (const auto file : answer.getDiff().getFiles())
    lines.push_back(std::to_string(file.getInsertions()) + " " + std::to_string(file.getDeletions()) + " " +
                    bytesOf(file.getPath()));
  return lines;
}

// A pointer to a submodule's commit is in HEAD, and another one staged.
struct Pointed : Repo {
  Pointed() : first(tip(folder())) {
    git(folder(), {"commit", "-q", "--allow-empty", "-m", "second"});
    second = tip(folder());
    std::filesystem::create_directory(folder() + "/sub");
    point(first);
    git(folder(), {"commit", "-q", "-m", "sub"});
    point(second);
  }
  void point(const std::string& commit) const {
    git(folder(), {"update-index", "--add", "--cacheinfo", "160000," + commit + ",sub"});
  }
  std::string first;
  std::string second;
};

TEST(GitStaged, ASubmodulesPointerIsShownCountedAndCommitted) {
  Pointed repo;
  const std::string& folder = repo.folder();
  GitWorker worker(repo.broker, folder, Access::WRITE);
  EXPECT_EQ(worker.status(), std::vector<std::string>{"M. sub"});
  EXPECT_EQ(worker.status(), porcelain(folder));
  EXPECT_EQ(stagedCounts(worker), std::vector<std::string>{"1 1 sub"});
  repo.write("kept.txt", "x\n");
  git(folder, {"add", "kept.txt"});
  ASSERT_EQ(worker.commitAs("both"), "");
  EXPECT_EQ(worker.files, 2U);
  auto show = worker.repository.showRequest();
  show.initRequest().setCommit("HEAD");
  auto shown = worker.call(show);
  EXPECT_EQ(shown.getShow().getDiff().getTotal(), 2U);
  EXPECT_EQ(git(folder, {"show", "--numstat", "--format="}), "1\t3\tkept.txt\n1\t1\tsub\n");
  ASSERT_EQ(worker.rollback(worker.lastAction), "");
  EXPECT_EQ(worker.status(), porcelain(folder));
  repo.point(repo.first);
  git(folder, {"reset", "-q", "kept.txt"});
  EXPECT_EQ(worker.commitAs("nothing"), "nothing_to_do/commit") << "the control";
}

// A command can write either file.
TEST(GitStaged, NoConfigurationHidesASubmodulesPointer) {
  Pointed repo;
  const std::string& folder = repo.folder();
  repo.config("diff.ignoreSubmodules", "all");
  repo.config("submodule.sub.ignore", "all");
  repo.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ./x\n\tignore = all\n");
  git(folder, {"add", ".gitmodules"});
  GitWorker worker(repo.broker, folder, Access::WRITE);
  EXPECT_EQ(worker.status(), (std::vector<std::string>{"A. .gitmodules", "M. sub"}));
  EXPECT_EQ(worker.status(), porcelain(folder));
  EXPECT_EQ(stagedCounts(worker), (std::vector<std::string>{"4 0 .gitmodules", "1 1 sub"}));
  ASSERT_EQ(worker.commitAs("both"), "");
  EXPECT_EQ(worker.files, 2U);
}

TEST(GitStaged, ASubmodulesPointerAloneIsACommit) {
  Pointed repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.commitAs("pointer"), "");
  EXPECT_EQ(worker.files, 1U);
  EXPECT_EQ(porcelain(repo.folder()), std::vector<std::string>());
}

TEST(GitStaged, ASubmodulesPointerIsUnstagedAndComesBack) {
  Pointed repo;
  const std::string& folder = repo.folder();
  GitWorker worker(repo.broker, folder, Access::WRITE);
  ASSERT_EQ(worker.change([](schema::GitChange::Builder change) { change.initUnstage().setAll(true); }), "");
  EXPECT_EQ(porcelain(folder), std::vector<std::string>());
  EXPECT_EQ(worker.status(), std::vector<std::string>());
  ASSERT_EQ(worker.rollback(worker.lastAction), "");
  EXPECT_EQ(git(folder, {"rev-parse", ":sub"}), repo.second + "\n");
}

TEST(GitStaged, AFileThatBecameASubmoduleIsCountedAsByGit) {
  Pointed repo;
  const std::string& folder = repo.folder();
  git(folder, {"rm", "-q", "--cached", "sub", "kept.txt"});
  git(folder, {"update-index", "--add", "--cacheinfo", "160000," + repo.first + ",kept.txt"});
  git(folder, {"update-index", "--add", "--cacheinfo", "160000," + std::string(40, '7') + ",unknown"});
  GitWorker worker(repo.broker, folder, Access::WRITE);
  EXPECT_EQ(git(folder, {"diff", "--cached", "--numstat", "--no-renames"}),
            "1\t3\tkept.txt\n0\t1\tsub\n1\t0\tunknown\n");
  EXPECT_EQ(stagedCounts(worker), (std::vector<std::string>{"1 3 kept.txt", "0 1 sub", "1 0 unknown"}));
  ASSERT_EQ(worker.commitAs("three"), "");
  EXPECT_EQ(worker.files, 3U);
}

// `git add -N`.
struct Intended : Repo {
  Intended() {
    write("new.txt", "content\n");
    write("empty.txt", "");
    git(folder(), {"add", "-N", "new.txt", "empty.txt"});
  }
};

TEST(GitStaged, WhatIsButIntendedToBeAddedIsNotCommitted) {
  Intended repo;
  const std::string& folder = repo.folder();
  GitWorker worker(repo.broker, folder, Access::WRITE);
  EXPECT_EQ(porcelain(folder), (std::vector<std::string>{".A empty.txt", ".A new.txt"}));
  for (const auto untracked : {schema::Untracked::ALL, schema::Untracked::NORMAL, schema::Untracked::NO})
    EXPECT_EQ(worker.status(untracked), porcelain(folder));
  EXPECT_EQ(stagedCounts(worker), std::vector<std::string>());
  EXPECT_EQ(worker.commitAs("nothing is staged"), "nothing_to_do/commit");
  repo.write("kept.txt", "more\n");
  ASSERT_EQ(worker.stage({"kept.txt"}), "");
  EXPECT_EQ(worker.status(), porcelain(folder));
  ASSERT_EQ(worker.commitAs("one file"), "");
  EXPECT_EQ(worker.files, 1U);
  EXPECT_EQ(git(folder, {"show", "--name-only", "--format="}), "kept.txt\n");
  EXPECT_EQ(porcelain(folder), (std::vector<std::string>{".A empty.txt", ".A new.txt"})) << "the marks stay";
  EXPECT_EQ(worker.status(), porcelain(folder));
}

TEST(GitStaged, TheDifferenceHasWhatIsIntendedAsNew) {
  Intended repo;
  const std::string& folder = repo.folder();
  repo.write("gone.txt", "content\n");
  git(folder, {"add", "-N", "gone.txt"});
  unlink((folder + "/gone.txt").c_str());
  repo.write("kept.txt", "more\n");
  GitWorker worker(repo.broker, folder, Access::WRITE);
  const auto differences = [&worker]() {
    auto request = worker.repository.diffRequest();
    request.initRequest().setLimit(100);
    auto answer = worker.call(request);
    std::string text;
    for (const auto file : answer.getDiff().getFiles())
      text += "DAM"[file.getEdit() == schema::GitEdit::ADDED      ? 1
                    : file.getEdit() == schema::GitEdit::MODIFIED ? 2
                                                                  : 0] +
              ("\t" + bytesOf(file.getPath())) + "\n";
    return text;
  };
  const auto byGit = [&folder]() { return git(folder, {"diff", "--name-status", "--no-renames"}); };
  EXPECT_EQ(byGit(), "A\tempty.txt\nD\tgone.txt\nM\tkept.txt\nA\tnew.txt\n");
  EXPECT_EQ(differences(), byGit());
  auto request = worker.repository.diffRequest();
  request.initRequest().setFile("new.txt");
  auto answer = worker.call(request);
  EXPECT_EQ(answer.getDiff().getInsertions(), 1U);
  EXPECT_GT(answer.getDiff().getPatchTotalBytes(), 0U);
  ASSERT_EQ(worker.stageAll(), "");
  EXPECT_EQ(differences(), "");
}

TEST(GitStaged, TheMarkOfWhatIsIntendedComesBackByARollback) {
  Intended repo;
  const std::string& folder = repo.folder();
  const auto before = porcelain(folder);
  GitWorker worker(repo.broker, folder, Access::WRITE);
  for (const char* file : {"new.txt", "empty.txt"}) {
    ASSERT_EQ(worker.stage({file}), "");
    EXPECT_EQ(worker.status(), porcelain(folder));
    EXPECT_NE(porcelain(folder), before);
    ASSERT_EQ(worker.rollback(worker.lastAction), "");
    EXPECT_EQ(porcelain(folder), before);
    EXPECT_EQ(worker.status(), before);
  }
  ASSERT_EQ(worker.stageAll(), "");
  EXPECT_EQ(porcelain(folder), (std::vector<std::string>{"A. empty.txt", "A. new.txt"}));
}

TEST(GitStaged, AWorktreeWithAStagedPointerOrAnIntendedFileIsNotRemoved) {
  Repo repo;
  const std::string& folder = repo.folder();
  repo.write(".git/info/exclude", "tree\n");
  git(folder, {"worktree", "add", "-q", "-b", "side", "tree"});
  GitWorker worker(repo.broker, folder, Access::WRITE);
  repo.write("tree/new.txt", "");
  git(folder + "/tree", {"add", "-N", "new.txt"});
  EXPECT_EQ(worker.change(removeTree("tree")), "not_clean/worktree/1");
  git(folder + "/tree", {"rm", "-q", "-f", "new.txt"});
  std::filesystem::create_directory(folder + "/tree/sub");
  git(folder + "/tree", {"update-index", "--add", "--cacheinfo", "160000," + tip(folder) + ",sub"});
  EXPECT_EQ(worker.change(removeTree("tree")), "not_clean/worktree/1");
  git(folder + "/tree", {"rm", "-q", "--cached", "sub"});
  EXPECT_EQ(worker.change(removeTree("tree")), "") << "the control";
}

TEST(GitStaged, WhatIsIntendedAndGoneOrALinkIsToldAsByGit) {
  Intended repo;
  const std::string& folder = repo.folder();
  GitWorker worker(repo.broker, folder, Access::WRITE);
  unlink((folder + "/empty.txt").c_str());
  unlink((folder + "/new.txt").c_str());
  ASSERT_EQ(symlink("kept.txt", (folder + "/new.txt").c_str()), 0);
  EXPECT_EQ(worker.status(), porcelain(folder));
  git(folder, {"rm", "-q", "--cached", "kept.txt"});
  git(folder, {"add", "-N", "kept.txt"});
  EXPECT_EQ(worker.status(), porcelain(folder)) << "staged as gone, and there";
}

// Nothing that is read is another thing than its name says.
TEST(GitStaged, ReplacementsAreNotFollowed) {
  Repo repo;
  const std::string& folder = repo.folder();
  git(folder, {"checkout", "-q", "--orphan", "other"});
  repo.write("kept.txt", "other\n");
  repo.commit("other");
  const std::string other = tip(folder);
  git(folder, {"checkout", "-q", "-f", "main"});
  git(folder, {"replace", tip(folder), other});
  GitWorker worker(repo.broker, folder, Access::WRITE);
  EXPECT_EQ(worker.status(), std::vector<std::string>());
  EXPECT_EQ(git(folder, {"--no-replace-objects", "status", "--porcelain"}), "");
  EXPECT_NE(porcelain(folder), std::vector<std::string>()) << "the control";
  EXPECT_EQ(worker.commitAs("nothing"), "nothing_to_do/commit");
}

// A row of picks that stands between two of them: git has no CHERRY_PICK_HEAD then.
TEST(GitStaged, WhatIsIntendedIsToldOnceWhateverHasComeToItsPlace) {
  Repo repo;
  const std::string& folder = repo.folder();
  const auto unstaged = [](GitWorker& worker) {
    auto request = worker.repository.statusRequest();
    request.initRequest().setLimit(100);
    auto answer = worker.call(request);
    return answer.getStatus().getUnstaged();
  };
  repo.write("folder/new.txt", "content\n");
  repo.write("new.txt", "content\n");
  git(folder, {"add", "-N", "folder/new.txt", "new.txt"});
  GitWorker worker(repo.broker, folder, Access::WRITE);
  unlink((folder + "/new.txt").c_str());
  ASSERT_EQ(mkfifo((folder + "/new.txt").c_str(), 0600), 0);
  EXPECT_EQ(worker.status(), porcelain(folder)) << "a FIFO";
  EXPECT_EQ(unstaged(worker), 2U);
  unlink((folder + "/new.txt").c_str());
  std::filesystem::rename(folder + "/folder", folder + "/moved");
  ASSERT_EQ(symlink("moved", (folder + "/folder").c_str()), 0);
  EXPECT_EQ(worker.status(), porcelain(folder)) << "what lies behind a link is not there";
  EXPECT_EQ(unstaged(worker), 3U);
  ASSERT_EQ(worker.stageAll(), "");
  EXPECT_EQ(worker.status(), porcelain(folder));
  EXPECT_EQ(git(folder, {"ls-files", "folder/new.txt", "new.txt"}), "");
}

TEST(GitStaged, ARowOfPicksIsUnderWayBetweenTwoOfThem) {
  Repo repo;
  const std::string& folder = repo.folder();
  git(folder, {"checkout", "-q", "-b", "topic"});
  for (int i = 0; i < 3; ++i) {
    repo.write("kept.txt", std::to_string(i) + "\n");
    repo.commit("more");
  }
  git(folder, {"checkout", "-q", "main"});
  repo.write("kept.txt", "main\n");
  repo.commit("main");
  git(folder, {"branch", "other"});
  EXPECT_NE(runIn(folder, {"git", "cherry-pick", "topic~2", "topic~1", "topic"}).status, 0);
  repo.write("kept.txt", "resolved\n");
  git(folder, {"commit", "-qam", "resolved"});
  GitWorker worker(repo.broker, folder, Access::WRITE);
  auto status = worker.call(worker.repository.statusRequest());
  EXPECT_STREQ(status.getStatus().getHead().getUnderway().cStr(), "cherry-pick");
  EXPECT_EQ(worker.change(checkOut("other")), "underway/merge_or_rebase");
  repo.write("more.txt", "more\n");
  git(folder, {"add", "more.txt"});
  EXPECT_EQ(worker.commitAs("more"), "underway/merge_or_rebase");
  git(folder, {"cherry-pick", "--quit"});
  EXPECT_EQ(worker.commitAs("more"), "");
}

}  // namespace
}  // namespace factionos::test
