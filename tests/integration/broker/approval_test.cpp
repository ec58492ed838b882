#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "live_broker.h"

namespace factionos::test {
namespace {

const std::string kMake = R"("command":["touch","made"])";

bool made(const LiveBroker& broker) {
  return std::filesystem::exists(broker.workspace() + "/made");
}

TEST(Approval, ABearerTokenAloneNeverApproves) {
  LiveBroker broker;
  const auto proposed = broker.propose(kMake, broker.token(), "k1");
  const auto id = proposed.at("/action/id");
  const auto approver = broker.token("read,approve", "boss");
  const auto seen = broker.action(id, approver);
  EXPECT_FALSE(seen.at("/action/nonce").empty()) << "who may approve is told what a proof signs";
  EXPECT_TRUE(broker.action(id, broker.token()).at("/action/nonce").empty());
  const auto bare =
      broker.post("/v1/actions/" + id + "/approve", R"({"expectedRevision":1})", approver, "d1");
  EXPECT_EQ(bare.status, 403) << bare.body;
  EXPECT_EQ(bare.at("/field"), "proof");
  const auto forged =
      broker.post("/v1/actions/" + id + "/approve",
                  R"({"expectedRevision":1,"proof":")" + std::string(86, 'A') + "\"}", approver, "d2");
  EXPECT_EQ(forged.status, 403) << forged.body;
  EXPECT_EQ(broker.action(id, approver).at("/action/state"), "proposed");
}

TEST(Approval, P76_NeitherTheAgentsTokenNorAProcessInTheSandboxReachesAnApprovalSurface) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto proposed = broker.propose(kMake, token, "k1");
  const auto id = proposed.at("/action/id");
  const auto refused =
      broker.post("/v1/actions/" + id + "/approve", R"({"expectedRevision":1})", token, "d1");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.code(), "forbidden");
  const std::string attempt =
      "import socket,os,sys\n"
      "def dial(family, address):\n"
      "  try:\n"
      "    s=socket.socket(family); s.settimeout(2); s.connect(address); return 'REACHED'\n"
      "  except OSError as e: return 'refused %d' % e.errno\n"
      "print('operator', dial(socket.AF_UNIX, '" +
      broker.home() +
      "/run/operator.sock'))\n"
      "print('api', dial(socket.AF_UNIX, '" +
      broker.home() +
      "/run/api.sock'))\n"
      "print('tcp', dial(socket.AF_INET, ('127.0.0.1', " +
      std::to_string(broker.port()) +
      ")))\n"
      "try:\n"
      "  print('key', open('" +
      broker.home() +
      "/operator.key').read())\n"
      "except OSError as e: print('key refused', e.errno)\n";
  writeFile(broker.workspace() + "/attempt.py", attempt);
  const auto ended = broker.outcome(R"("command":["python3","attempt.py"])", token, "k2");
  const auto output = outputOf(ended);
  EXPECT_EQ(output.find("REACHED"), std::string::npos) << output;
  EXPECT_NE(output.find("key refused"), std::string::npos) << output;
  EXPECT_NE(output.find("operator refused"), std::string::npos) << output;
  // The control: outside of the sandbox the same program of the same user reaches all three.
  const auto control = runProcess({"/usr/bin/python3", broker.workspace() + "/attempt.py"},
                                  broker.environment(), broker.workspace());
  EXPECT_NE(control.out.find("operator REACHED"), std::string::npos) << control.out << control.err;
  EXPECT_NE(control.out.find("tcp REACHED"), std::string::npos);
  EXPECT_FALSE(made(broker));
}

TEST(Approval, P14_TheSessionCanOpenNothingOfTheBrokersOwn) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto home = broker.home();
  std::string script;
  for (const auto* entry :
       {"state/state.db", "state/keys", "state/audit/audit.log", "config.toml", "operator.key", "run"})
    script += "cat " + home + "/" + entry + " >/dev/null 2>&1 && echo OPENED " + entry + "; ";
  script += "ls " + home + " 2>/dev/null && echo OPENED home; echo done";
  const auto output = outputOf(broker.outcome(R"("shell":)" + json(script), token, "k1"));
  EXPECT_EQ(output, "done\n");
  const auto control = runProcess({"/bin/sh", "-c", script}, broker.environment(), broker.workspace());
  EXPECT_NE(control.out.find("OPENED state/keys"), std::string::npos) << control.out;
}

TEST(Approval, P71_AScriptRewrittenWhileItWaitsIsDrift) {
  LiveBroker broker;
  const auto token = broker.token();
  writeFile(broker.workspace() + "/build.sh", "#!/bin/sh\necho good\n");
  ::chmod((broker.workspace() + "/build.sh").c_str(), 0755);
  const std::string command = R"("command":["./build.sh"])";
  const auto id = broker.propose(command, token, "k1").at("/action/id");
  ASSERT_EQ(broker.approve(id).status, 0);
  writeFile(broker.workspace() + "/build.sh", "#!/bin/sh\ntouch made\n");
  const auto drifted = broker.execute(command, token, "k1", id);
  EXPECT_EQ(drifted.status, 409) << drifted.body;
  EXPECT_EQ(drifted.code(), "approval_drift");
  EXPECT_FALSE(made(broker));
  // The same for an operand that a system program reads.
  writeFile(broker.workspace() + "/step.sh", "echo good\n");
  const std::string operand = R"("command":["sh","step.sh"])";
  const auto second = broker.propose(operand, token, "k2").at("/action/id");
  ASSERT_EQ(broker.approve(second).status, 0);
  writeFile(broker.workspace() + "/step.sh", "touch made\n");
  EXPECT_EQ(broker.execute(operand, token, "k2", second).code(), "approval_drift");
  EXPECT_FALSE(made(broker));
}

TEST(Approval, P71_RewrittenBeforeItIsApprovedIsDriftToo) {
  LiveBroker broker;
  const auto token = broker.token();
  writeFile(broker.workspace() + "/build.sh", "#!/bin/sh\necho good\n");
  ::chmod((broker.workspace() + "/build.sh").c_str(), 0755);
  const std::string command = R"("command":["./build.sh"])";
  const auto id = broker.propose(command, token, "k1").at("/action/id");
  writeFile(broker.workspace() + "/build.sh", "#!/bin/sh\ntouch made\n");
  // An approval is a record of intent; what was seen is what it is bound to.
  broker.approve(id);
  EXPECT_EQ(broker.execute(command, token, "k1", id).code(), "approval_drift");
  EXPECT_FALSE(made(broker));
}

// The policy as it is, with `more` in front of it.
void reloadWith(LiveBroker& broker, const std::string& more) {
  const auto path = broker.home() + "/policy.toml";
  writeFile(path, more + readFile(path));
  const auto reloaded = broker.cli({"policy", "reload"});
  ASSERT_EQ(reloaded.status, 0) << reloaded.err;
}

constexpr const char* kDenyTouch =
    "[[rule]]\nfamily = \"terminal\"\noperation = \"run\"\nprogram = \"/usr/bin/touch\"\ndecision = "
    "\"deny\"\nreason = \"revoked\"\n\n";
constexpr const char* kDenyOther =
    "[[rule]]\nfamily = \"git\"\noperation = \"status\"\ndecision = \"deny\"\nreason = \"other\"\n\n";

// Policy has changed since `id` was asked for.
void expectNotRun(LiveBroker& broker, const std::string& token, const std::string& id) {
  const auto refused = broker.execute(kMake, token, "k1", id);
  EXPECT_TRUE(refused.code() == "approval_drift" || refused.code() == "policy_blocked") << refused.body;
  EXPECT_FALSE(made(broker));
}

// Whatever the operator decides on the old card, nothing runs under the new rules.
TEST(Approval, P74_APolicyThatIsReloadedBeforeTheDecisionIsAConflict) {
  for (const char* more : {kDenyTouch, kDenyOther}) {
    LiveBroker broker;
    const auto token = broker.token();
    const auto id = broker.propose(kMake, token, "k1").at("/action/id");
    reloadWith(broker, more);
    broker.approve(id);
    expectNotRun(broker, token, id);
  }
}

TEST(Approval, P74_ARuleThatIsRevokedBetweenApprovalAndStartStopsIt) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto id = broker.propose(kMake, token, "k1").at("/action/id");
  ASSERT_EQ(broker.approve(id).status, 0);
  reloadWith(broker, kDenyTouch);
  expectNotRun(broker, token, id);
}

// What lies in a workspace decides nothing, and a field that would switch something off is refused by name.
TEST(Approval, P89_NeitherAWorkspaceFileNorAFieldWidensPolicyOrSandbox) {
  LiveBroker broker;
  const auto token = broker.token();
  const std::string allowAll =
      "[[rule]]\nfamily = \"*\"\noperation = \"*\"\ndecision = \"allow\"\nuntil = "
      "2099-01-01T00:00:00Z\nreason = "
      "\"x\"\n";
  std::filesystem::create_directory(broker.workspace() + "/.factionos");
  for (const char* name :
       {"/policy.toml", "/config.toml", "/.factionos/policy.toml", "/.factionos/config.toml"})
    writeFile(broker.workspace() + name, allowAll);
  EXPECT_EQ(broker.cli({"policy", "reload"}).status, 0);
  EXPECT_EQ(broker.propose(kMake, token, "k1").status, 202) << "it asks as before";
  for (const std::string field : {"disable", "sandbox", "dangerouslyDisableSandbox", "privileged"}) {
    const auto refused = broker.propose(kMake + ",\"" + field + "\":true", token, "k-" + field);
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_EQ(refused.code(), "blocked_field") << field;
    EXPECT_EQ(refused.at("/field"), field);
  }
  EXPECT_FALSE(made(broker));
  for (const std::string field : {"disable", "sandbox", "dangerouslyDisableSandbox", "privileged"}) {
    EXPECT_TRUE(eventually([&]() {
      const auto audit = broker.cli({"audit", "list"}).out;
      return audit.find("terminal-run") != std::string::npos && audit.find(field) != std::string::npos;
    })) << field;
  }
  // Nobody fills the audit with it.
  for (int i = 0; i < 30; ++i)
    EXPECT_EQ(broker.propose(kMake + ",\"disable\":true", token, "k-again").status, 400);
  const auto audit = broker.cli({"audit", "list"}).out;
  std::size_t recorded = 0;
  for (auto at = audit.find("terminal-run"); at != std::string::npos; at = audit.find("terminal-run", at + 1))
    ++recorded;
  EXPECT_GE(recorded, 4U);
  EXPECT_LE(recorded, 20U);
}

TEST(Approval, P74_AReloadedPolicyMakesTheApprovalDriftAndNamesBothRevisions) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto id = broker.propose(kMake, token, "k1").at("/action/id");
  ASSERT_EQ(broker.approve(id).status, 0);
  std::ofstream(broker.home() + "/policy.toml", std::ios::app)
      << "\n[[rule]]\nfamily = \"git\"\noperation = \"status\"\ndecision = \"deny\"\n";
  const auto reloaded = broker.cli({"policy", "reload"});
  ASSERT_EQ(reloaded.status, 0) << reloaded.err;
  const auto drifted = broker.execute(kMake, token, "k1", id);
  EXPECT_EQ(drifted.code(), "approval_drift") << drifted.body;
  EXPECT_NE(drifted.at("/detail").find("revision 1;"), std::string::npos) << drifted.body;
  EXPECT_NE(drifted.at("/detail").find("in force is 2"), std::string::npos) << drifted.body;
  EXPECT_FALSE(made(broker));
}

TEST(Approval, P73_TwoApprovalsInParallelAreOne) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto id = broker.propose(kMake, token, "k1").at("/action/id");
  auto first = broker.startCli({"approve", id, "--revision", "1", "--yes"});
  auto second = broker.startCli({"approve", id, "--revision", "1", "--yes"});
  const int one = first->finish().status;
  const int two = second->finish().status;
  EXPECT_EQ(std::min(one, two), 0);
  EXPECT_EQ(std::max(one, two), 3);
  EXPECT_EQ(broker.action(id, token).number("/action/revision"), 2U);
  const auto started = broker.execute(kMake, token, "k1", id);
  EXPECT_EQ(started.status, 201);
}

TEST(Approval, AStaleRevisionIsAConflictThatNamesTheCurrentOne) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto id = broker.propose(kMake, token, "k1").at("/action/id");
  EXPECT_EQ(broker.approve(id, 7).status, 3);
  ASSERT_EQ(broker.approve(id, 1).status, 0);
  const auto stale = broker.execute(kMake, token, "k1", id, 1);
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(stale.code(), "stale_revision");
  EXPECT_EQ(stale.number("/currentRevision"), 2U);
  EXPECT_FALSE(made(broker));
}

// Who sits at the operator's door without its key does not keep the operator out.
TEST(Approval, IdleConnectionsDoNotLockTheOperatorOut) {
  LiveBroker broker;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = broker.home() + "/run/operator.sock";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  std::vector<int> idle;
  for (int i = 0; i < 40; ++i) {
    idle.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(idle.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << i;
  }
  EXPECT_EQ(broker.cli({"grant", "list"}).status, 0);
  // The oldest ones were sent away.
  pollfd first{idle.front(), POLLIN, 0};
  EXPECT_EQ(::poll(&first, 1, 20'000), 1);
  for (const int each : idle) ::close(each);
}

TEST(Approval, ItIsGoodForOneRequestAlone) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto id = broker.propose(kMake, token, "k1").at("/action/id");
  ASSERT_EQ(broker.approve(id).status, 0);
  EXPECT_EQ(broker.execute(R"("command":["touch","other"])", token, "k1", id).code(), "idempotency_mismatch");
  EXPECT_EQ(broker.execute(kMake, token, "k2", id).code(), "approval_drift");
  EXPECT_EQ(broker.execute(kMake, broker.token("read,propose", "thief"), "k1", id).code(), "approval_drift");
  EXPECT_FALSE(made(broker));
  EXPECT_EQ(broker.execute(kMake, token, "k1", id).status, 201);
}

TEST(Approval, OneThatWaitsOutlivesAFrontThatIsKilled) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto id = broker.propose(kMake, token, "k1").at("/action/id");
  const auto front = broker.child("front");
  ASSERT_NE(front, 0);
  ::kill(front, SIGKILL);
  ASSERT_TRUE(eventually([&]() { return request(broker.port(), "GET", "/healthz", "", {}).status == 200; }));
  EXPECT_NE(broker.child("front"), front);
  ASSERT_EQ(broker.approve(id).status, 0);
  EXPECT_EQ(broker.execute(kMake, token, "k1", id).status, 201);
}

TEST(Approval, OneThatWaitsOutlivesTheBroker) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto id = broker.propose(kMake, token, "k1").at("/action/id");
  broker.stop();
  broker.start();
  ASSERT_EQ(broker.approve(id).status, 0);
  EXPECT_EQ(broker.execute(kMake, token, "k1", id).status, 201);
}

}  // namespace
}  // namespace factionos::test
