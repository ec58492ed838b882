// A git worker that was taken over, under its real profiles, beside honest requests of the same broker:
// SPEC 1.3 act by act in both, and what it says on its line. Its action ends as failed/worker_misbehaved, the
// audit is whole, and the next request is served by another worker.
#include <cstdlib>
#include <string>

#include "tests/hostile/acts.h"
#include "tests/hostile/family_worker.h"
#include "tests/hostile/wire.h"

namespace factionos::test {
namespace {

class HostileGit : public HostileFamilyWorker {
 protected:
  HostileGit() : HostileFamilyWorker(FACTIONOS_HOSTILE_GIT) {}

  void SetUp() override {
    const std::string line =
        "cd '" + broker.workspace() +
        "' && export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null && "
        "git init -q -b main && git config user.name Ada && git config user.email "
        "a@example.org && echo x > f && git add f && git commit -q -m first";
    ASSERT_EQ(std::system(line.c_str()), 0);
  }
  Reply honestChange() override { return ask("branch-create", R"("branch":"honest")", uniqueKey()); }

  Reply ask(const std::string& operation, const std::string& members, const std::string& key = {}) {
    return broker.post("/v1/git/" + operation,
                       R"({"workspace":"demo")" + (members.empty() ? "" : "," + members) + "}", token, key);
  }
  Reply turnBad(const std::string& scenario, const std::string& argument = "x") {
    return ask("branch-create", R"("branch":"bad.)" + scenario + R"(","from":)" + json(argument),
               uniqueKey());
  }
  Reply turnBadReading(const std::string& scenario, const std::string& argument = "x") {
    return ask("diff", R"("from":"bad.)" + scenario + R"(","to":)" + json(argument));
  }
};

class HostileGitActs : public HostileGit, public testing::WithParamInterface<hostile::Rule> {};

TEST_P(HostileGitActs, AreRefusedByTheFilterOrByLandlock) {
  SKIP_ACTS_IF_SANITIZED();
  const std::string file = broker.home() + "/state/state.db";
  const auto before = readFile(broker.home() + "/policy.toml");
  int tried = 0;
  for (const auto& act : hostile::acts()) {
    if (act.rule != GetParam()) continue;
    ++tried;
    // Its filters have calls that open files, within the repository; elsewhere Landlock answers.
    const bool opens = act.rule == hostile::Rule::kState || act.rule == hostile::Rule::kMemory;
    const auto reading = turnBadReading(act.name, file);
    if (!opens || reading.code() != "forbidden") {
      EXPECT_EQ(reading.code(), "worker_misbehaved") << act.name << reading.body;
    }
    const auto writing = turnBad(act.name, file);
    if (!opens || writing.code() != "forbidden") expectMisbehaved(writing, act.name);
  }
  EXPECT_GT(tried, 0);
  EXPECT_EQ(readFile(broker.home() + "/policy.toml"), before);
}
INSTANTIATE_TEST_SUITE_P(Rules, HostileGitActs,
                         testing::Values(hostile::Rule::kState, hostile::Rule::kMemory,
                                         hostile::Rule::kSignals, hostile::Rule::kPrograms,
                                         hostile::Rule::kSockets, hostile::Rule::kSandbox));

TEST_F(HostileGit, BytesThatAreNoRpcEndIt) {
  for (const auto& breach : hostile::wireBreaches()) expectMisbehaved(turnBad(breach.name), breach.name);
}

TEST_F(HostileGit, ValuesThatNoWorkerOfOursSaysEndIt) {
  for (const char* scenario : {"unasked", "long", "edit"})
    EXPECT_EQ(turnBadReading(scenario).code(), "worker_misbehaved") << scenario;
  for (const char* scenario : {"many", "object", "time"})
    EXPECT_EQ(ask("log", R"("from":"bad.)" + std::string(scenario) + "\"").code(), "worker_misbehaved")
        << scenario;
  EXPECT_EQ(ask("show", R"("commit":"bad.message")").code(), "worker_misbehaved");
  EXPECT_EQ(turnBad("preview").code(), "worker_misbehaved");
  expectMisbehaved(turnBad("outcome"), "outcome");
}

TEST_F(HostileGit, ATargetThatIsNoLabelIsShownNowhere) {
  const auto reply = turnBad("exit");
  EXPECT_NE(reply.status, 200);
  EXPECT_NE(reply.code(), "worker_misbehaved") << "one that just ends is lost: " << reply.body;
  const auto actions = broker.get("/v1/actions?limit=1", token);
  EXPECT_EQ(actions.at("/actions/0/state"), "failed") << actions.body;
  EXPECT_EQ(actions.at("/actions/0/target"), "demo/repository") << actions.body;
}

}  // namespace
}  // namespace factionos::test
