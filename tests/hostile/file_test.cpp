// A file worker that was taken over, under its real profile, beside honest requests of the same broker: SPEC
// 1.3 act by act, and what it says on its line. Its action ends as failed/worker_misbehaved, the audit is
// whole, and the next request is served by another worker.
#include <algorithm>
#include <array>
#include <string>

#include <sys/syscall.h>

#include "tests/hostile/acts.h"
#include "tests/hostile/family_worker.h"
#include "tests/hostile/wire.h"

namespace factionos::test {
namespace {

// What its filter has, for its workspace; elsewhere Landlock answers. All else ends it.
constexpr std::array kOfTheFilter{SYS_openat, SYS_unlinkat, SYS_renameat2, SYS_linkat, SYS_getdents64};

class HostileFile : public HostileFamilyWorker {
 protected:
  HostileFile() : HostileFamilyWorker(FACTIONOS_HOSTILE_FILE, "file") {}

  Reply honestChange() override {
    return ask("write", R"("path":"honest-)" + uniqueKey() + R"(","content":"x")", uniqueKey());
  }

  Reply ask(const std::string& operation, const std::string& members, const std::string& key = {}) {
    return broker.post("/v1/file/" + operation, R"({"workspace":"demo",)" + members + "}", token, key);
  }
  Reply turnBad(const std::string& scenario, const std::string& argument = "x") override {
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
    if (act.rule == hostile::Rule::kModes ||
        std::ranges::find(kOfTheFilter, act.call) == kOfTheFilter.end()) {
      expectMisbehaved(reply, act.name);
    } else {
      EXPECT_EQ(reply.code(), "forbidden") << act.name << reply.body;
    }
  }
  EXPECT_GT(tried, 0);
  EXPECT_EQ(readFile(broker.home() + "/policy.toml"), before);
}
INSTANTIATE_TEST_SUITE_P(Rules, HostileFileActs,
                         testing::Values(hostile::Rule::kState, hostile::Rule::kMemory,
                                         hostile::Rule::kSignals, hostile::Rule::kPrograms,
                                         hostile::Rule::kSockets, hostile::Rule::kSandbox,
                                         hostile::Rule::kModes));

TEST_F(HostileFile, BytesThatAreNoRpcEndIt) {
  for (const auto& breach : hostile::wireBreaches()) expectBroken(breach.name);
}

TEST_F(HostileFile, OneThatSaysThemAndEndsIsNotTakenForLost) {
  expectBroken("parting_noise");
}

// Each has one thing wrong in what is else taken: the control.
TEST_F(HostileFile, ValuesThatNoWorkerOfOursSaysEndIt) {
  for (const char* operation : {"stat", "list", "read"})
    EXPECT_EQ(ask(operation, R"("path":"bad.sound")").status, 200) << operation;
  EXPECT_EQ(turnBad("sound").status, 200);
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
