// A git worker dies before each call by which it would change a file, for each operation that writes: what
// the broker says of the action is true, no lock or half-written file of ours stays, and nobody else's goes.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "git_agent.h"

namespace factionos::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPolicy =
    "[[rule]]\nfamily = \"git\"\noperation = \"*\"\ndecision = \"allow\"\nuntil = 2099-01-01T00:00:00Z\n";

struct Operation {
  const char* name;
  const char* members;
  // What tells whether it has happened; a line of sh.
  const char* sign;
  enum class What { kItself, kItsRollback } what = What::kItself;
};

constexpr auto kItsRollback = Operation::What::kItsRollback;
constexpr const char* kCheckedOut = "git symbolic-ref HEAD; cat a.txt b.txt; cat f f/g/a h h/a";
constexpr const char* kAdded =
    "git worktree list --porcelain; cat tree/a.txt; ls -A tree .git/worktrees/tree";
constexpr const char* kRemoved = "git worktree list --porcelain; ls -A .git/worktrees tree";

constexpr Operation kOperations[] = {
    {"stage", R"("all":true)", "git diff --cached --name-only"},
    {"unstage", R"("all":true)", "git diff --cached --name-only"},
    {"commit", R"("message":"second")", "git rev-list --count main"},
    {"branch-create", R"("branch":"topic")", "git branch --list topic"},
    {"checkout", R"("branch":"side")", kCheckedOut},
    {"checkout", R"("branch":"side")", kCheckedOut, kItsRollback},
    {"worktree-add", R"("name":"tree","directory":"tree")", kAdded},
    {"worktree-add", R"("name":"tree","directory":"tree")", kAdded, kItsRollback},
    {"worktree-remove", R"("name":"tree")", kRemoved},
    {"worktree-remove", R"("name":"tree")", kRemoved, kItsRollback},
    {"push", R"("branch":"ahead")", "git --git-dir=remote.git for-each-ref refs/heads/ahead"},
    {"fetch", "", "git for-each-ref refs/remotes"},
};

// Locks of others, of theirs and of another action's words.
constexpr const char* kForeign[] = {"refs/heads/foreign.lock", "refs/tags/foreign.lock",
                                    "refs/heads/another.lock"};

class GitWorkerDies : public testing::TestWithParam<Operation> {
 protected:
  void SetUp() override {
    agent.shell(
        "git init -q -b main && git config user.name Ada && git config user.email ada@example.org && echo "
        "one > a.txt && mkdir -p d/e && echo deep > d/e/c.txt && mkdir -p "
        "f/g && echo f > f/g/a && echo h > h && git add -A && git commit -q -m first && git "
        "tag first && git checkout -q -b side && "
        "echo side > a.txt && echo side > b.txt && rm -r f h && echo f > f && mkdir h && echo h > h/a && git "
        "add -A && git commit -q -m side && git checkout -q "
        "main && git clone -q --bare . remote.git && git --git-dir=remote.git update-ref refs/heads/more "
        "$(git -c user.name=Ada -c user.email=ada@example.org --git-dir=remote.git commit-tree -p main -m "
        "more side^{tree}) && git branch ahead $(git commit-tree -p main -m ahead side^{tree}) && git remote "
        "add origin remote.git && printf 'remote.git\\ntree\\n' >> "
        ".git/info/exclude");
    agent.shell("echo x | tee .git/" + std::string(kForeign[0]) + " > .git/" + kForeign[1] +
                "; echo 'factionos act_another' > .git/" + kForeign[2]);
  }

  // As it was before any operation.
  void restore() {
    const std::string name = GetParam().name;
    std::string then;
    if (name == "stage") then = "; echo changed > a.txt; echo new > b.txt";
    if (name == "unstage" || name == "commit") then = "; echo changed > a.txt; git add a.txt";
    if (name == "worktree-remove") then = "; git worktree add -q -b tree tree side";
    agent.shell(
        "git symbolic-ref HEAD refs/heads/main; git update-ref refs/heads/main first && git reset -q --hard "
        "&& git clean -q -f -d; rm -rf tree .git/worktrees; git worktree prune; git --git-dir=remote.git "
        "update-ref -d refs/heads/ahead; git for-each-ref "
        "--format='delete %(refname)' refs/heads/topic refs/heads/tree refs/remotes refs/factionos | git "
        "update-ref --stdin" +
        then);
  }

  std::string sign() { return agent.shell("(" + std::string(GetParam().sign) + ") 2>/dev/null || true"); }

  // Names in the repository and beside it that are neither git's own nor a snapshot.
  std::vector<std::string> leftOvers() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(broker.workspace())) {
      const std::string path = entry.path().lexically_relative(broker.workspace());
      const std::string name = entry.path().filename();
      const bool foreign = std::ranges::any_of(
          kForeign, [&](const char* each) { return path == ".git/" + std::string(each); });
      const bool ours = name.find(".factionos-") != std::string::npos || name.starts_with("factionos-");
      // Of a pack that is not whole yet libgit2 leaves files of random names, as git does: they lock nothing.
      if (path.find("/objects/pack/") != std::string::npos) continue;
      if (!foreign && (name.ends_with(".lock") || ours)) found.push_back(path);
    }
    return found;
  }

  // False: it did not come to a death any more.
  bool dieBefore(int call) {
    SCOPED_TRACE(std::string(GetParam().name) + " before its call " + std::to_string(call));
    restore();
    std::string operation = GetParam().name;
    std::string members = GetParam().members;
    if (undoes()) {
      const auto done = agent.change(operation, members, uniqueKey());
      EXPECT_EQ(done.status, 200) << done.body;
      operation = "rollback";
      members = R"("actionId":")" + done.at("/action/id") + "\"";
    }
    const std::string before = sign();
    std::ofstream(broker.workspace() + "/.git/die-before") << call;
    const auto reply = agent.change(operation, members, uniqueKey());
    fs::remove(broker.workspace() + "/.git/die-before");
    const bool died = fs::remove(broker.workspace() + "/.git/died");
    if (!died) {
      EXPECT_EQ(reply.status, 200) << reply.body;
      after = sign();
      EXPECT_NE(after, before);
      return false;
    }
    ends.push_back({reply.status == 200, sign(), before, call});
    const auto actions = broker.get("/v1/actions?limit=1", agent.token());
    EXPECT_EQ(actions.at("/actions/0/state"), reply.status == 200 ? "succeeded" : "failed") << actions.body;
    partly.push_back(actions.at("/actions/0/failureCode") == "partly_done");
    EXPECT_EQ(leftOvers(), std::vector<std::string>());
    for (const char* each : kForeign)
      EXPECT_TRUE(fs::exists(broker.workspace() + "/.git/" + each)) << each << ": somebody else's";
    agent.git("fsck --strict --no-dangling");
    // What is left of an undoing is undone by asking once more.
    if (undoes() && partly.back()) {
      const auto again = agent.change(operation, members, uniqueKey());
      EXPECT_EQ(again.status, 200) << again.body;
      finished.push_back(sign());
    }
    return true;
  }

  static bool undoes() { return GetParam().what == kItsRollback; }

  struct End {
    bool succeeded;
    std::string sign;
    std::string before;
    int call;
  };
  LiveBroker broker{{.policy = kPolicy, .broker = FACTIONOS_DYING_GIT}};
  GitAgent agent{broker};
  std::vector<End> ends;
  std::vector<bool> partly;
  std::vector<std::string> finished;
  std::string after;
};

TEST_P(GitWorkerDies, AndWhatIsSaidOfItIsTrueAndNoLockOfOursStays) {
  constexpr int kFarMoreThanAny = 1000;
  int call = 1;
  while (call < kFarMoreThanAny && !HasFailure() && dieBefore(call)) ++call;
  EXPECT_GT(call, 20);
  EXPECT_LT(call, kFarMoreThanAny);
  for (std::size_t i = 0; i < ends.size() && !after.empty(); ++i) {
    const End& end = ends[i];
    if (partly[i]) {
      // Of a worktree that is half made or half gone the branch alone stays.
      const std::string name = GetParam().name;
      if (name.starts_with("worktree-")) {
        const bool goes = (name == "worktree-remove") != undoes();
        EXPECT_EQ(end.sign, goes ? after : end.before) << "before its call " << end.call;
        EXPECT_NE(name, undoes() ? "" : "worktree-remove")
            << "it has no branch: before its call " << end.call;
      }
      continue;
    }
    EXPECT_EQ(end.sign, end.succeeded ? after : end.before) << "before its call " << end.call;
  }
  for (const std::string& each : finished) EXPECT_EQ(each, after);
  EXPECT_EQ(broker.log().find("worker_misbehaved"), std::string::npos) << "dead, and no more";
}

INSTANTIATE_TEST_SUITE_P(Operations, GitWorkerDies, testing::ValuesIn(kOperations), [](const auto& each) {
  std::string name = each.param.name + std::string(each.param.what == kItsRollback ? "undone" : "");
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace factionos::test
