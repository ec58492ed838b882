// A file worker that was taken over, under its real profile, beside honest requests of the same broker: SPEC
// 1.3 act by act, and what it says on its line. Its action ends as failed/worker_misbehaved, the audit is
// whole, and the next request is served by another worker.
#include <string>

#include "tests/hostile/acts.h"
#include "tests/hostile/family_worker.h"
#include "tests/hostile/wire.h"

namespace factionos::test {
namespace {

using hostile::Act;

class HostileFile : public HostileFamilyWorker {
 protected:
  HostileFile() : HostileFamilyWorker(FACTIONOS_HOSTILE_FILE) {}

  Reply honestChange() override {
    return ask("write", R"("path":"honest-)" + uniqueKey() + R"(","content":"x")", uniqueKey());
  }

  Reply ask(const std::string& operation, const std::string& members, const std::string& key = {}) {
    return broker.post("/v1/file/" + operation, R"({"workspace":"demo",)" + members + "}", token, key);
  }
  Reply turnBad(const std::string& scenario, const std::string& argument = "x") {
    return ask("write", R"("path":"bad.)" + scenario + R"(","content":)" + json(argument), uniqueKey());
  }
};

class HostileFileActs : public HostileFile, public testing::WithParamInterface<hostile::Rule> {};

TEST_P(HostileFileActs, AreRefusedByTheFilterOrByLandlock) {
  SKIP_ACTS_IF_SANITIZED();
  const std::string file = broker.home() + "/state/state.db";
  const auto before = readFile(broker.home() + "/policy.toml");
  int tried = 0;
  for (const auto& act : hostile::acts()) {
    if (act.rule != GetParam()) continue;
    ++tried;
    const auto reply = turnBad(act.name, file);
    // Its filter has calls that open files, within the workspace; elsewhere Landlock answers.
    const bool opens = act.rule == hostile::Rule::kState || act.rule == hostile::Rule::kMemory;
    if (opens && reply.code() == "forbidden") continue;
    expectMisbehaved(reply, act.name);
  }
  EXPECT_GT(tried, 0);
  EXPECT_EQ(readFile(broker.home() + "/policy.toml"), before);
}
INSTANTIATE_TEST_SUITE_P(Rules, HostileFileActs,
                         testing::Values(hostile::Rule::kState, hostile::Rule::kMemory,
                                         hostile::Rule::kSignals, hostile::Rule::kPrograms,
                                         hostile::Rule::kSockets, hostile::Rule::kSandbox));

TEST_F(HostileFile, BytesThatAreNoRpcEndIt) {
  for (const auto& breach : hostile::wireBreaches()) expectMisbehaved(turnBad(breach.name), breach.name);
}

TEST_F(HostileFile, ValuesThatNoWorkerOfOursSaysEndIt) {
  for (const char* scenario : {"kind", "sha", "mode"})
    EXPECT_EQ(ask("stat", R"("path":"bad.)" + std::string(scenario) + "\"").code(), "worker_misbehaved")
        << scenario;
  for (const char* scenario : {"many", "names"})
    EXPECT_EQ(ask("list", R"("path":"bad.)" + std::string(scenario) + "\"").code(), "worker_misbehaved")
        << scenario;
  EXPECT_EQ(ask("read", R"("path":"bad.more")").code(), "worker_misbehaved");
  expectMisbehaved(turnBad("after"), "after");
}

TEST_F(HostileFile, OneThatJustEndsIsLostAndNotMisbehaved) {
  const auto reply = turnBad("exit");
  EXPECT_NE(reply.status, 200);
  EXPECT_NE(reply.code(), "worker_misbehaved") << reply.body;
  const auto actions = broker.get("/v1/actions?limit=1", token);
  EXPECT_EQ(actions.at("/actions/0/state"), "failed") << actions.body;
}

}  // namespace
}  // namespace factionos::test
