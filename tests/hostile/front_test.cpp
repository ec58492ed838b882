// A front that was taken over, under its real profile: it can propose and read as those whose tokens it saw,
// and nothing else. The operator and running sessions are served meanwhile.
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "broker/cli/operator_client.h"
#include "latency.h"
#include "live_broker.h"
#include "tests/hostile/acts.h"

namespace factionos::test {
namespace {

using hostile::Act;

// The operator's line is the broker's own: no front is in its way.
class Operator {
 public:
  explicit Operator(const std::string& home)
      : client_({.homeFlag = home}, {.keyFile = std::nullopt, .passphraseFile = std::nullopt}) {}
  bool operator()() {
    return client_.service().statusRequest().send().wait(client_.waitScope()).hasDiagnostics();
  }

 private:
  cli::OperatorClient client_;
};

class HostileFront : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(broker.cli({"audit", "verify"}).status, 0) << "the audit is whole";
    EXPECT_TRUE(Operator(broker.home())()) << "the operator is served";
    EXPECT_TRUE(served()) << "a front is there again";
  }

  std::string ask(const std::string& scenario, const std::string& bearer) {
    return broker.get("/bad/" + scenario, bearer).body;
  }
  bool served() {
    return eventually([this]() { return request(broker.port(), "GET", "/healthz", "", {}).status == 200; });
  }
  std::size_t told(const std::string& what) const {
    const auto text = broker.log();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
    return count;
  }

  // The front of now is ended for it, and another takes its place.
  void expectEnded(const std::string& scenario, const std::string& breach) {
    SCOPED_TRACE(scenario);
    ASSERT_TRUE(served());
    const auto before = told("worker_misbehaved worker=front");
    const auto front = broker.child("front");
    ASSERT_NE(front, 0);
    ask(scenario, token);
    ASSERT_TRUE(eventually([&]() { return told("worker_misbehaved worker=front") == before + 1; }))
        << broker.log();
    const auto text = broker.log();
    EXPECT_NE(text.find(breach, text.rfind("worker_misbehaved")), std::string::npos) << text;
    EXPECT_TRUE(eventually([&]() { return ::kill(front, 0) != 0; }));
  }

  LiveBroker broker{{.broker = FACTIONOS_HOSTILE_FRONT}};
  std::string token = broker.token("read,propose", "agent");
};

TEST_F(HostileFront, ActsOfEveryKindEndIt) {
  SKIP_ACTS_IF_SANITIZED();
  for (const char* name :
       {"state_write", "trace", "signal_process", "program_start", "connect", "namespace"}) {
    const auto* act = hostile::findAct(name);
    ASSERT_NE(act, nullptr);
    const bool named = act->end == Act::End::kTrapped;
    expectEnded(name,
                "breach=refused_call syscall=" + (named ? std::to_string(act->call) : std::string("none")));
  }
}

TEST_F(HostileFront, BytesThatAreNoRpcEndIt) {
  for (const char* name : {"noise", "announced_size", "pointer_loop", "capability_of_others",
                           "answer_never_asked", "questions_without_end", "capabilities_without_end"})
    expectEnded(name, "breach=protocol");
}

TEST_F(HostileFront, ASnapshotThatIsNeverTakenEndsIt) {
  ask("silent", token);
  ask("approve_own", token);  // something to publish
  ASSERT_TRUE(eventually([&]() { return told("worker_misbehaved worker=front") == 1; }));
  EXPECT_EQ(told("breach=no_answer"), 1U) << broker.log();
}

TEST_F(HostileFront, NoDescriptorOfItsOwnMakesItSomebody) {
  for (const char* scenario : {"be_line", "be_events", "be_unix_listener", "be_tcp_listener"})
    EXPECT_EQ(ask(scenario, token), "forbidden") << scenario;
}

TEST_F(HostileFront, TokensAreNotGuessed) {
  EXPECT_EQ(ask("guess_tokens", token), "unauthenticated");
}

TEST_F(HostileFront, CantApproveWhatItProposed) {
  EXPECT_EQ(ask("approve_own", token), "forbidden forbidden forbidden forbidden waits ");
  const auto approver = broker.token("read,propose,approve", "approver");
  EXPECT_EQ(ask("approve_own", approver).find("none"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/approved-by-itself"));
  const auto audit = broker.cli({"--json", "audit", "list"}).out;
  EXPECT_EQ(audit.find("\"approve\""), std::string::npos) << audit;
}

TEST_F(HostileFront, EveryMethodAnswersHostileValuesWithAValue) {
  const auto counts = ask("call_all", broker.token("ingest,read,propose,approve,admin", "all"));
  EXPECT_NE(counts.find("exceptions=0 silent=0"), std::string::npos) << counts;
  for (const char* part : {"/state/audit/audit.log", "/state/state.db-wal"})
    EXPECT_EQ(readFile(broker.home() + part).find("AAAAAAAAAAAAAAAA"), std::string::npos) << part;
  EXPECT_EQ(broker.log().find("shadow"), std::string::npos);
}

TEST_F(HostileFront, FloodsDelayNeitherTheOperatorNorASession) {
  const auto operatorOf = [home = broker.home()]() { return Operator(home); };
  for (const char* flood : {"logins", "previews", "runs"}) {
    Latency requests(operatorOf);
    EXPECT_EQ(ask(flood, token), "done");
    requests.expectServed((std::string("front_") + flood + ".operator").c_str());
  }
  Latency requests(operatorOf);
  std::thread bad([this]() { ask("bootstraps", token); });
  for (int waits = 0; waits < 200; ++waits) pollPause();
  requests.expectServed("front_bootstraps.operator");
  ::kill(broker.child("front"), SIGKILL);
  bad.join();
}

}  // namespace
}  // namespace factionos::test
