// The life of one guarded action over the real front, broker, launcher, session and pty worker.
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include "live_broker.h"

namespace factionos::test {
namespace {

const std::string kTrue = R"("command":["true"])";

TEST(Action, RunsOnceAfterApprovalAndIsRecordedWithoutItsContent) {
  LiveBroker broker({.key = Setup::Key::kSealed});
  const auto token = broker.token();
  const std::string command = R"("command":["sh","-c","echo canary-7731-output; echo canary >made; exit 3"])";
  const auto proposed = broker.propose(command, token, "k1");
  ASSERT_EQ(proposed.status, 202) << proposed.body;
  EXPECT_EQ(proposed.at("/action/state"), "proposed");
  EXPECT_EQ(proposed.at("/action/card/operationClass"), "terminal.run");
  EXPECT_EQ(proposed.at("/action/card/rollback"), "none");
  EXPECT_EQ(proposed.body.find("canary"), std::string::npos) << "the card shows no command";
  EXPECT_FALSE(std::ifstream(broker.workspace() + "/made").good()) << "a proposal runs nothing";

  const auto id = proposed.at("/action/id");
  ASSERT_EQ(broker.approve(id).status, 0);
  const auto started = broker.execute(command, token, "k1", id);
  ASSERT_EQ(started.status, 201) << started.body;
  const auto session = started.at("/session/id");
  const auto ended = broker.ended(session, token);
  EXPECT_EQ(ended.at("/session/exit/code"), "3");
  EXPECT_EQ(outputOf(ended), "canary-7731-output\n");
  EXPECT_EQ(readFile(broker.workspace() + "/made"), "canary\n");
  const auto action = broker.action(id, token);
  EXPECT_EQ(action.at("/action/state"), "failed");
  EXPECT_EQ(action.at("/action/failureCode"), "exit_status");
  EXPECT_EQ(action.number("/action/revision"), 4U);

  const auto audit = broker.cli({"audit", "list"});
  EXPECT_NE(audit.out.find("terminal.run  approve  approved"), std::string::npos) << audit.out;
  EXPECT_NE(audit.out.find("failed"), std::string::npos);
  EXPECT_EQ(audit.out.find("canary"), std::string::npos);
  const auto verified = broker.cli({"audit", "verify"});
  EXPECT_EQ(verified.status, 0) << verified.out;
}

TEST(Action, AtRestNothingOfItsContentIsKept) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto ended = broker.outcome(R"("command":["sh","-c","echo canary-at-rest-551"])", token, "k1");
  EXPECT_EQ(outputOf(ended), "canary-at-rest-551\n");
  broker.stop();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(broker.home())) {
    if (!entry.is_regular_file()) continue;
    const auto content = readFile(entry.path());
    EXPECT_EQ(content.find("canary-at-rest-551"), std::string::npos) << entry.path();
    EXPECT_EQ(content.find(token), std::string::npos) << entry.path();
  }
}

TEST(Action, PreviewRunsNothingAndStoresNothing) {
  LiveBroker broker;
  const auto reply = broker.post("/v1/terminal/preview", R"({"workspace":"demo","command":["touch","made"]})",
                                 broker.token());
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.at("/decision"), "ask");
  EXPECT_EQ(reply.at("/card/program"), "touch");
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/made"));
  EXPECT_EQ(broker.get("/v1/actions", broker.token()).at("/actions"), "[]");
}

TEST(Action, ARejectedActionNeverRuns) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto proposed = broker.propose(R"("command":["touch","made"])", token, "k1");
  const auto id = proposed.at("/action/id");
  ASSERT_EQ(broker.cli({"reject", id, "--revision", "1", "--yes", "--reason", "not_today"}).status, 0);
  const auto again = broker.execute(R"("command":["touch","made"])", token, "k1", id);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.code(), "rejected");
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/made"));
}

TEST(Action, P77_UnansweredItExpiresAndNothingRuns) {
  LiveBroker broker({.limits = "approval_expiry_seconds = 1\n"});
  const auto token = broker.token();
  const auto proposed = broker.propose(R"("command":["touch","made"])", token, "k1");
  ASSERT_EQ(proposed.status, 202) << proposed.body;
  const auto id = proposed.at("/action/id");
  ASSERT_TRUE(eventually([&]() { return broker.action(id, token).at("/action/state") == "expired"; }, 30));
  EXPECT_EQ(broker.action(id, token).at("/action/failureCode"), "approval_expired");
  EXPECT_EQ(broker.approve(id, 1).status, 3);
  const auto late = broker.execute(R"("command":["touch","made"])", token, "k1", id);
  EXPECT_EQ(late.code(), "approval_expired");
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/made"));
}

TEST(Action, AGrantLetsExactlyOneKindRunWithoutAsking) {
  LiveBroker broker;
  const auto token = broker.token("read,propose", "agent");
  const auto granted = broker.cli({"grant", "add", "--workspace", "demo", "--principal", "token:agent",
                                   "--program", "/usr/bin/true", "--for", "30m"});
  ASSERT_EQ(granted.status, 0) << granted.err;
  const auto allowed = broker.propose(kTrue, token, "k1");
  EXPECT_EQ(allowed.status, 201) << allowed.body;
  EXPECT_EQ(broker.propose(R"("command":["false"])", token, "k2").status, 202);
  EXPECT_EQ(broker.propose(kTrue + R"(,"network":"full")", token, "k3").status, 202);
  EXPECT_EQ(broker.propose(kTrue, broker.token("read,propose", "other"), "k4").status, 202);
}

TEST(Action, P88_AShellLineIsJudgedAsAWhole) {
  LiveBroker broker({.policy = R"(
[[rule]]
family = "terminal"
operation = "run"
program = "/usr/bin/true"
decision = "ask"
)"});
  const auto token = broker.token();
  EXPECT_EQ(broker.propose(kTrue, token, "k0").status, 202);
  int number = 0;
  for (const std::string line :
       {"true --version & touch made", "true >(touch made)", "true\\ntouch made", "true $(touch made)"}) {
    const auto reply = broker.propose(R"("shell":")" + line + "\"", token, "k" + std::to_string(++number));
    EXPECT_EQ(reply.status, 403) << reply.body;
    EXPECT_EQ(reply.code(), "policy_blocked");
  }
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/made"));
}

TEST(Action, AWorkspaceFileOfAProgramsNameIsNeverTheProgram) {
  LiveBroker broker({.policy = R"(
[[rule]]
family = "terminal"
operation = "run"
program = "/usr/bin/true"
decision = "ask"
[[rule]]
family = "terminal"
operation = "read-only"
decision = "allow"
)"});
  writeFile(broker.workspace() + "/true", "#!/bin/sh\ntouch made\n");
  ::chmod((broker.workspace() + "/true").c_str(), 0755);
  const auto token = broker.token();
  EXPECT_EQ(broker.propose(R"("command":["./true"])", token, "k1").code(), "policy_blocked");
  EXPECT_EQ(broker.outcome(kTrue, token, "k2").at("/session/exit/code"), "0");
  EXPECT_FALSE(std::filesystem::exists(broker.workspace() + "/made"));
}

TEST(Action, TheCardTellsAProgramOfTheWorkspaceFromTheSystems) {
  LiveBroker broker;
  const auto token = broker.token();
  for (const std::string name : {"make", "sh"}) {
    writeFile(broker.workspace() + "/" + name, "#!/bin/sh\nexit 0\n");
    std::filesystem::permissions(broker.workspace() + "/" + name, std::filesystem::perms(0755));
  }
  const auto previewed = [&](const std::string& command) {
    return broker.post("/v1/terminal/preview", R"({"workspace":"demo",)" + command + "}", token)
        .at("/card/program");
  };
  EXPECT_EQ(previewed(R"("command":["./make"])"), "workspace:make");
  EXPECT_EQ(previewed(R"("command":["./sh"])"), "workspace:sh");
  EXPECT_EQ(previewed(R"("command":["true"])"), "true");
  EXPECT_EQ(previewed(R"("shell":"true")"), "sh");
}

}  // namespace
}  // namespace factionos::test
