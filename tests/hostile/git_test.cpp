// A git worker that was taken over, under its real profiles, beside honest requests of the same broker:
// SPEC 1.3 act by act in both, and what it says on its line. Its action ends as failed/worker_misbehaved, the
// audit is whole, and the next request is served by another worker.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include <sys/syscall.h>

#include "tests/hostile/acts.h"
#include "tests/hostile/family_worker.h"
#include "tests/hostile/wire.h"

namespace factionos::test {
namespace {

// What its filters have, for its repository; elsewhere Landlock answers. All else ends it.
constexpr std::array kOfTheReader{SYS_openat, SYS_getdents64};
constexpr std::array kOfTheWriter{SYS_openat,   SYS_unlinkat, SYS_renameat2,
                                  SYS_truncate, SYS_linkat,   SYS_getdents64};

template <std::size_t N>
bool hasCall(const std::array<int, N>& calls, const hostile::Act& act) {
  return act.rule != hostile::Rule::kModes && std::ranges::find(calls, act.call) != calls.end();
}

class HostileGit : public HostileFamilyWorker {
 protected:
  HostileGit() : HostileFamilyWorker(FACTIONOS_HOSTILE_GIT, "git") {}

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
  Reply turnBad(const std::string& scenario, const std::string& argument = "x") override {
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
    const auto reading = turnBadReading(act.name, file);
    EXPECT_EQ(reading.code(), hasCall(kOfTheReader, act) ? "forbidden" : "worker_misbehaved")
        << act.name << reading.body;
    const auto writing = turnBad(act.name, file);
    if (hasCall(kOfTheWriter, act)) {
      EXPECT_EQ(writing.code(), "forbidden") << act.name << writing.body;
    } else {
      expectMisbehaved(writing, act.name);
    }
  }
  EXPECT_GT(tried, 0);
  EXPECT_EQ(readFile(broker.home() + "/policy.toml"), before);
}
INSTANTIATE_TEST_SUITE_P(Rules, HostileGitActs,
                         testing::Values(hostile::Rule::kState, hostile::Rule::kMemory,
                                         hostile::Rule::kSignals, hostile::Rule::kPrograms,
                                         hostile::Rule::kSockets, hostile::Rule::kSandbox,
                                         hostile::Rule::kModes));

TEST_F(HostileGit, BytesThatAreNoRpcEndIt) {
  for (const auto& breach : hostile::wireBreaches()) expectBroken(breach.name);
}

// Each has one thing wrong in what is else taken: the control.
TEST_F(HostileGit, ValuesThatNoWorkerOfOursSaysEndIt) {
  EXPECT_EQ(turnBadReading("sound").status, 200);
  EXPECT_EQ(ask("log", R"("from":"bad.sound")").status, 200);
  EXPECT_EQ(ask("show", R"("commit":"bad.sound")").status, 200);
  EXPECT_EQ(turnBad("sound").status, 200);
  for (const char* scenario : {"unasked", "edit"})
    EXPECT_EQ(turnBadReading(scenario).code(), "worker_misbehaved") << scenario;
  EXPECT_EQ(ask("diff", R"("from":"bad.long","to":"x","file":"f")").code(), "worker_misbehaved");
  for (const char* scenario : {"many", "object", "time"})
    EXPECT_EQ(ask("log", R"("from":"bad.)" + std::string(scenario) + "\"").code(), "worker_misbehaved")
        << scenario;
  EXPECT_EQ(ask("show", R"("commit":"bad.message")").code(), "worker_misbehaved");
  const auto before = broker.get("/v1/actions?limit=1", token).at("/actions/0/id");
  EXPECT_EQ(turnBad("preview").code(), "worker_misbehaved");
  EXPECT_EQ(broker.get("/v1/actions?limit=1", token).at("/actions/0/id"), before) << "it is not proposed";
  for (const char* scenario : {"outcome", "snapshot"}) expectMisbehaved(turnBad(scenario), scenario);
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
