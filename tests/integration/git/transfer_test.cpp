// What goes between two repositories, and which are left alone.
#include <map>

#include "git_harness.h"

namespace factionos::test {
namespace {

using Access = schema::RepositoryAccess;
using Change = schema::GitChange::Builder;

const auto kFetch = [](Change change) { change.initFetch(); };
const auto kPush = [](Change change) { change.initPush(); };

// Five commits on main, and one on a branch that begins where a shallow clone no longer reaches.
struct Forked : Repo {
  Forked() {
    for (int i = 0; i < 5; ++i) {
      write("kept.txt", std::to_string(i) + "\n");
      Repo::commit("more");
    }
    git(folder(), {"checkout", "-q", "-b", "hotfix", "HEAD~3"});
    git(folder(), {"commit", "-q", "--allow-empty", "-m", "fix"});
  }
  [[nodiscard]] std::string beside(const std::string& name) const {
    return broker.world.outside + "/" + name;
  }
};

std::string fsck(const std::string& folder) {
  return runIn(folder, {"git", "fsck", "--no-dangling"}).output;
}

TEST(GitTransfer, NothingIsFetchedIntoAShallowClone) {
  Forked repo;
  const std::string clone = repo.beside("clone");
  git(repo.folder(), {"clone", "-q", "--depth=1", "--branch=main", "file://" + repo.folder(), clone});
  git(clone, {"config", "remote.origin.url", repo.folder()});
  GitWorker worker(repo.broker, clone, Access::WRITE, {repo.folder()});
  EXPECT_EQ(worker.change(kFetch), "repository_refused/shallow");
  EXPECT_EQ(fsck(clone), "");
  git(clone, {"fetch", "-q", "--unshallow", "file://" + repo.folder()});
  EXPECT_EQ(worker.change(kFetch), "") << "one that is whole by now";
  EXPECT_EQ(tip(clone, "origin/hotfix"), tip(repo.folder(), "hotfix"));
  EXPECT_EQ(fsck(clone), "");
}

TEST(GitTransfer, NothingIsFetchedFromAShallowClone) {
  Forked repo;
  const std::string clone = repo.beside("clone.git");
  git(repo.folder(), {"clone", "-q", "--bare", "--depth=1", "file://" + repo.folder(), clone});
  const std::string mine = repo.beside("mine");
  git(repo.folder(), {"init", "-q", mine});
  git(mine, {"remote", "add", "origin", clone});
  GitWorker worker(repo.broker, mine, Access::WRITE, {clone});
  EXPECT_EQ(worker.change(kFetch), "repository_refused/shallow");
  EXPECT_EQ(fsck(mine).find("missing"), std::string::npos);
}

TEST(GitTransfer, NothingIsPushedBetweenAShallowCloneAndAnotherOne) {
  Forked repo;
  const std::string clone = repo.beside("clone.git");
  git(repo.folder(),
      {"clone", "-q", "--bare", "--depth=1", "--branch=main", "file://" + repo.folder(), clone});
  git(repo.folder(), {"remote", "add", "origin", clone});
  GitWorker worker(repo.broker, repo.folder(), Access::PUSH, {clone});
  EXPECT_EQ(worker.change(kPush), "repository_refused/shallow");
  EXPECT_EQ(fsck(clone), "");

  const std::string mine = repo.beside("mine");
  git(repo.folder(), {"clone", "-q", "--depth=1", "file://" + repo.folder(), mine});
  const std::string whole = repo.beside("whole.git");
  git(repo.folder(), {"init", "-q", "--bare", whole});
  git(mine, {"config", "remote.origin.url", whole});
  GitWorker other(repo.broker, mine, Access::PUSH, {whole});
  EXPECT_EQ(other.change(kPush), "repository_refused/shallow");
  EXPECT_EQ(fsck(whole).find("missing"), std::string::npos);
}

// The format of the other side counts as that of our own.
TEST(GitTransfer, ARemoteOfAnotherFormatIsRefusedByItsName) {
  Forked repo;
  const std::string other = repo.beside("other.git");
  git(repo.folder(), {"clone", "-q", "--bare", ".", other});
  git(other, {"config", "core.repositoryformatversion", "1"});
  git(other, {"config", "extensions.partialClone", "origin"});
  git(repo.folder(), {"remote", "add", "origin", other});
  GitWorker worker(repo.broker, repo.folder(), Access::PUSH, {other});
  EXPECT_EQ(worker.change(kFetch), "repository_refused/partial_clone");
  EXPECT_EQ(worker.change(kPush), "repository_refused/partial_clone");
}

// A remote whose branch "topic" is checked out in a working tree, of whichever kind.
void refusesToMove(Forked& repo, const std::string& remote, const std::string& tree) {
  const std::string before = tip(remote, "topic");
  git(repo.folder(), {"checkout", "-q", "-B", "topic", "main"});
  git(repo.folder(), {"config", "remote.origin.url", remote});
  GitWorker worker(repo.broker, repo.folder(), Access::PUSH, {remote});
  EXPECT_EQ(worker.change(kPush), "exists/checked_out_in_the_remote") << remote;
  EXPECT_EQ(tip(remote, "topic"), before);
  EXPECT_EQ(porcelain(tree), std::vector<std::string>());
  git(repo.folder(), {"checkout", "-q", "-B", "free", "main"});
  EXPECT_EQ(worker.change(kPush), "") << "nobody is on it";
  git(repo.folder(), {"checkout", "-q", "main"});
  git(repo.folder(), {"branch", "-q", "-D", "topic", "free"});
}

TEST(GitTransfer, NoBranchMovesThatAWorkingTreeOfTheRemoteIsOn) {
  Forked repo;
  const auto clone = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {"clone", "-q"});
    more.insert(more.end(), {repo.folder(), repo.beside(name)});
    git(repo.folder(), more);
    git(repo.beside(name), {"branch", "topic", "HEAD~1"});
  };
  git(repo.folder(), {"checkout", "-q", "main"});
  clone("plain", {});
  git(repo.beside("plain"), {"checkout", "-q", "topic"});
  refusesToMove(repo, repo.beside("plain"), repo.beside("plain"));

  clone("linked", {});
  git(repo.beside("linked"), {"worktree", "add", "-q", repo.beside("tree"), "topic"});
  refusesToMove(repo, repo.beside("linked"), repo.beside("tree"));

  // Its name says nothing.
  clone("apart", {"--separate-git-dir=" + repo.beside("apart.git")});
  git(repo.beside("apart"), {"checkout", "-q", "topic"});
  refusesToMove(repo, repo.beside("apart.git"), repo.beside("apart"));

  git(repo.folder(), {"clone", "-q", "--bare", repo.folder(), repo.beside("bare.git")});
  git(repo.beside("bare.git"), {"branch", "-f", "topic", "main~1"});
  git(repo.beside("bare.git"), {"worktree", "add", "-q", repo.beside("baretree"), "topic"});
  refusesToMove(repo, repo.beside("bare.git"), repo.beside("baretree"));
}

TEST(GitTransfer, TheBranchOfABareRemotesHeadMoves) {
  Forked repo;
  git(repo.folder(), {"checkout", "-q", "main"});
  const std::string bare = repo.beside("bare.git");
  git(repo.folder(), {"clone", "-q", "--bare", repo.folder(), bare});
  git(repo.folder(), {"remote", "add", "origin", bare});
  repo.write("kept.txt", "more\n");
  git(repo.folder(), {"commit", "-qam", "more"});
  GitWorker worker(repo.broker, repo.folder(), Access::PUSH, {bare});
  EXPECT_EQ(worker.change(kPush), "");
  EXPECT_EQ(tip(bare, "main"), tip(repo.folder()));
}

// A branch that is but another name of one.
TEST(GitTransfer, ASymbolicBranchIsListedAndNeitherMovedNorCheckedOut) {
  Forked repo;
  const std::string& folder = repo.folder();
  git(folder, {"branch", "real", "HEAD"});
  git(folder, {"symbolic-ref", "refs/heads/alias", "refs/heads/real"});
  git(folder, {"symbolic-ref", "refs/heads/loop", "refs/heads/loop"});
  const std::string bare = repo.beside("bare.git");
  git(folder, {"clone", "-q", "--bare", folder, bare});
  git(folder, {"remote", "add", "origin", bare});
  const std::string before = tip(folder, "real");
  GitWorker worker(repo.broker, folder, Access::PUSH, {bare});
  std::map<std::string, std::string> branches;
  auto listed = worker.call(worker.repository.branchesRequest());
  EXPECT_EQ(denialText(listed.getDenial()), "");
  for (const auto branch : listed.getBranches().getBranches())
    branches[branch.getName().cStr()] = std::string(branch.getCommit());
  EXPECT_EQ(branches["alias"], before);
  EXPECT_EQ(branches["loop"], "");
  EXPECT_EQ(worker.change(checkOut("alias")), "unavailable/symbolic_branch");
  EXPECT_EQ(worker.change(addTree("tree", "tree", "alias")), "unavailable/symbolic_branch");
  EXPECT_EQ(worker.change([](Change change) { change.initPush().setBranch("alias"); }),
            "unavailable/symbolic_branch");
  EXPECT_EQ(tip(folder, "real"), before);
  EXPECT_EQ(worker.change(checkOut("real")), "") << "the control";
}

}  // namespace
}  // namespace factionos::test
