// The whole story over REST: an agent edits, stages, commits, branches and undoes in a real repository, asked
// about each step by approvals and, where the operator has said so, by grants; git itself is the judge.
#include <fstream>
#include <iterator>

#include "git_agent.h"

namespace factionos::test {
namespace {

std::string contentOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Story : public testing::Test {
 protected:
  void SetUp() override {
    agent.makeRepository();
    agent.git("reset -q --hard");
    agent.shell(
        "rm b.txt && mkdir -p src .git/hooks && printf 'one\\ntwo\\n' > src/main.c && git add -A && "
        "git commit -q -m second && printf '#!/bin/sh\\ntouch ../ran\\n' > .git/hooks/pre-commit && "
        "chmod +x .git/hooks/pre-commit");
  }

  // One change of the family file or git, with whatever it takes to have it done.
  Reply carryOut(const std::string& route, const std::string& members) {
    const auto key = uniqueKey();
    const auto send = [&](const std::string& approval) {
      return broker.post(route, R"({"workspace":"demo",)" + members + approval + "}", agent.token(), key);
    };
    auto reply = send("");
    if (reply.status != 202) return reply;
    ++asked;
    const auto id = reply.at("/action/id");
    EXPECT_EQ(reply.at("/action/state"), "proposed");
    EXPECT_EQ(broker.approve(id).status, 0);
    return send(GitAgent::approval(id));
  }
  std::string done(const std::string& route, const std::string& members) {
    const auto reply = carryOut(route, members);
    EXPECT_EQ(reply.status, 200) << route << reply.body;
    EXPECT_EQ(reply.at("/action/state"), "succeeded");
    return reply.at("/action/id");
  }

  LiveBroker broker;
  GitAgent agent{broker, "agent"};
  int asked = 0;
};

TEST_F(Story, AnAgentEditsStagesCommitsBranchesAndUndoes) {
  const auto file = broker.workspace() + "/src/main.c";
  const auto first = agent.git("rev-parse HEAD");

  // On a branch of its own.
  done("/v1/git/branch-create", R"("branch":"agent/fix")");
  done("/v1/git/checkout", R"("branch":"agent/fix")");
  const auto edit = done("/v1/file/edit", R"("path":"src/main.c","oldText":"two","newText":"TWO")");
  EXPECT_EQ(contentOf(file), "one\nTWO\n");
  EXPECT_EQ(agent.ask("diff", R"("file":"src/main.c")").number("/diff/insertions"), 1U);
  done("/v1/git/stage", R"("files":["src/main.c"])");
  const auto commit = done("/v1/git/commit", R"("message":"Fix two")");
  EXPECT_EQ(agent.git("log -1 --format='%s by %an'"), "Fix two by Ada");
  EXPECT_EQ(agent.git("status --porcelain -- src"), "");
  EXPECT_EQ(agent.git("rev-parse HEAD~1"), first);
  agent.shell("test ! -e ../ran");  // by a hook
  EXPECT_EQ(asked, 5);

  // And back: the commit, the edit, the branch.
  done("/v1/git/rollback", R"("actionId":")" + commit + "\"");
  EXPECT_EQ(agent.git("rev-parse HEAD"), first);
  EXPECT_EQ(agent.git("diff --cached --name-only"), "src/main.c") << "what was staged is staged again";
  done("/v1/git/unstage", R"("all":true)");
  done("/v1/file/restore", R"("path":"src/main.c","entry":")" + edit + "\"");
  EXPECT_EQ(contentOf(file), "one\ntwo\n");
  done("/v1/git/checkout", R"("branch":"main")");
  EXPECT_EQ(agent.git("symbolic-ref --short HEAD"), "main");
  agent.git("fsck --strict --no-dangling");
  EXPECT_EQ(broker.cli({"audit", "verify"}).status, 0);
}

TEST_F(Story, AGrantCoversWhatItNamesAndTheRestIsAsked) {
  for (const char* operation : {"stage", "commit"})
    ASSERT_EQ(broker
                  .cli({"grant", "add", "--family", "git", "--operation", operation, "--workspace", "demo",
                        "--principal", "agent", "--for", "10m"})
                  .status,
              0);
  done("/v1/file/edit", R"("path":"src/main.c","oldText":"one","newText":"ONE")");
  EXPECT_EQ(asked, 1) << "an edit is not what was granted";
  done("/v1/git/stage", R"("all":true)");
  const auto commit = done("/v1/git/commit", R"("message":"One")");
  EXPECT_EQ(asked, 1);
  done("/v1/git/rollback", R"("actionId":")" + commit + "\"");
  EXPECT_EQ(asked, 2) << "nor is a rollback";
  EXPECT_EQ(agent.git("log -1 --format=%s"), "second");
  // Another principal has no part in it.
  GitAgent other(broker, "other");
  EXPECT_EQ(other.change("commit", R"("message":"Mine")", "k").status, 202);
}

}  // namespace
}  // namespace factionos::test
