// A pty worker that was taken over, under its real profile, beside honest sessions of the same broker: what
// it tries fails by the cause that is named here, it is killed, its action ends as
// `failed/worker_misbehaved`, the audit says so and is whole, and others are served meanwhile.
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "latency.h"
#include "live_broker.h"
#include "tests/hostile/acts.h"
#include "tests/hostile/policy_text.h"
#include "tests/hostile/wire.h"

namespace factionos::test {
namespace {

using hostile::Act;

struct Scenario {
  std::string name;
  std::string argument;
};

struct Turned {
  Scenario scenario;
  std::string session;
  std::string action;
  pid_t worker = 0;
};

class HostilePty : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(broker.cli({"audit", "verify"}).status, 0) << "the audit is whole";
    EXPECT_TRUE(eventually([this]() { return ptyWorkers() <= 1; })) << "the bad ones were killed";
    const auto after = runHonest("after");
    EXPECT_NE(outputOf(after).find("after"), std::string::npos) << "the broker serves on: " << after.body;
  }

  std::size_t ptyWorkers() const {
    std::size_t count = 0;
    for (const auto pid : descendants(broker.pid()))
      count += readFile("/proc/" + std::to_string(pid) + "/comm") == "pty\n" ? 1U : 0U;
    return count;
  }

  Reply runHonest(const std::string& word) {
    const auto started = broker.propose(R"("command":["echo",")" + word + "\"]", token, uniqueKey());
    EXPECT_EQ(started.status, 201) << started.body;
    return broker.ended(started.at("/session/id"), token);
  }

  // Its terminal tells the worker what to do; the command itself would go on for ever.
  Reply start(const Scenario& scenario, const std::string& rest = "; sleep 1000") {
    const std::string line = "echo '" + scenario.name + " " + scenario.argument + "'" + rest;
    return broker.propose(R"("shell":)" + json(line) + R"(,"cols":666,"rows":24)", token, uniqueKey());
  }

  // All at once, and each is judged by itself.
  void expectMisbehaved(const std::vector<Scenario>& scenarios, const std::string& breach = {}) {
    std::vector<Turned> all;
    for (const auto& scenario : scenarios) {
      const auto started = start(scenario);
      ASSERT_EQ(started.status, 201) << scenario.name << started.body;
      all.push_back({scenario, started.at("/session/id"), started.at("/action/id")});
    }
    for (const auto& each : all) {
      SCOPED_TRACE(each.scenario.name);
      const auto ended = broker.ended(each.session, token);
      EXPECT_EQ(ended.at("/session/failureCode"), "worker_misbehaved") << ended.body;
      const auto action = broker.action(each.action, token);
      EXPECT_EQ(action.at("/action/state"), "failed");
      EXPECT_EQ(action.at("/action/failureCode"), "worker_misbehaved");
      const auto line = logLine(each.session);
      EXPECT_NE(line.find("worker=pty"), std::string::npos) << line;
      EXPECT_NE(line.find("breach=" + breach), std::string::npos) << line;
    }
    const auto audit = broker.cli({"--json", "audit", "list"}).out;
    for (const auto& each : all) EXPECT_TRUE(auditTells(audit, each.action)) << each.scenario.name;
  }

  std::string logLine(const std::string& session) const {
    const auto text = broker.log();
    const auto at = text.find("worker_misbehaved worker=pty session=" + session);
    return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
  }

  static bool auditTells(const std::string& audit, const std::string& action) {
    for (std::size_t at = 0; (at = audit.find(action, at)) != std::string::npos; ++at) {
      const auto end = audit.find("\"actionId\"", at);
      if (audit.substr(at, end - at).find("worker_misbehaved") != std::string::npos) return true;
    }
    return false;
  }

  LiveBroker broker{
      {.limits = "max_sessions = 64\n", .policy = kEverythingAllowed, .broker = FACTIONOS_HOSTILE_PTY}};
  std::string token = broker.token("read,propose", "agent");
};

// ---- acts: SPEC 1.3

// Outside of the sandbox the same user's same act comes back, or works.
void expectControl(const Act& act, const hostile::Target& target) {
  if (act.control == Act::Control::kNone) return;
  const pid_t child = fork();
  if (child == 0) {
    const long result = act.run(target);
    _exit(act.control == Act::Control::kSucceeds && result < 0 ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "the control of " << act.name << ": " << status;
}

class HostilePtyActs : public HostilePty {
 protected:
  // Every act of the rule ends the worker: the broker's log names the call where the filter does.
  void expectRefused(hostile::Rule rule) {
    const std::string file = broker.home() + "/state/state.db";
    std::vector<Scenario> scenarios;
    for (const auto& act : hostile::acts()) {
      if (act.rule != rule) continue;
      expectControl(act, {broker.pid(), file});
      scenarios.push_back({act.name, file});
    }
    const auto before = readFile(broker.home() + "/policy.toml");
    expectMisbehaved(scenarios, "refused_call");
    const auto log = broker.log();
    for (const auto& act : hostile::acts()) {
      if (act.rule != rule || act.end != Act::End::kTrapped) continue;
      EXPECT_NE(log.find("syscall=" + std::to_string(act.call) + "\n"), std::string::npos) << act.name;
    }
    EXPECT_EQ(readFile(broker.home() + "/policy.toml"), before);
  }
};

TEST_F(HostilePtyActs, CantReadOrWriteTheBrokersState) {
  SKIP_ACTS_IF_SANITIZED();
  expectRefused(hostile::Rule::kState);
}
TEST_F(HostilePtyActs, CantReadAnothersMemory) {
  SKIP_ACTS_IF_SANITIZED();
  expectRefused(hostile::Rule::kMemory);
}
TEST_F(HostilePtyActs, CantSignalAnybody) {
  SKIP_ACTS_IF_SANITIZED();
  expectRefused(hostile::Rule::kSignals);
}
TEST_F(HostilePtyActs, CantStartAProgram) {
  SKIP_ACTS_IF_SANITIZED();
  expectRefused(hostile::Rule::kPrograms);
}
TEST_F(HostilePtyActs, CantReachAnySocketButItsLine) {
  SKIP_ACTS_IF_SANITIZED();
  expectRefused(hostile::Rule::kSockets);
}
TEST_F(HostilePtyActs, CantLeaveItsSandbox) {
  SKIP_ACTS_IF_SANITIZED();
  expectRefused(hostile::Rule::kSandbox);
}
TEST_F(HostilePtyActs, CantLeaveItsRightsToOthers) {
  SKIP_ACTS_IF_SANITIZED();
  expectRefused(hostile::Rule::kModes);
}

// ---- the line: SPEC 1.4

TEST_F(HostilePty, BytesThatAreNoRpcEndIt) {
  std::vector<Scenario> scenarios;
  for (const auto& breach : hostile::wireBreaches()) scenarios.push_back({breach.name, ""});
  expectMisbehaved(scenarios, "protocol");
}

TEST_F(HostilePty, ItsOneCapabilityIsAllThatItCanName) {
  expectMisbehaved({{"method_that_is_not", ""}, {"interfaces_of_others", ""}}, "unknown_call");
  expectMisbehaved({{"malformed_parameters", ""}}, "malformed_call");
}

TEST_F(HostilePty, OutputIsBoundedAndItsEndIsCounted) {
  expectMisbehaved({{"chunk_too_large", ""}}, "chunk_size");
  expectMisbehaved({{"end_with_wrong_count", ""}}, "end_count");
  expectMisbehaved({{"output_after_end", ""}}, "output_after_end");
  expectMisbehaved({{"end_twice", ""}}, "end_twice");
  expectMisbehaved({{"garbage_after_end", ""}}, "protocol");
}

TEST_F(HostilePty, AnEventPipeIsNoWayToTellOutcomesOrToFlood) {
  expectMisbehaved({{"event_flood", ""}, {"event_noise", ""}}, "events");
  expectMisbehaved({{"event_forged_trap", ""}}, "refused_call");
}

TEST_F(HostilePty, AWorkerThatGivesUpItsLineDoesNotLiveOn) {
  expectMisbehaved({{"line_given_up", ""}, {"goodbye", ""}}, "line_given_up");
}

TEST_F(HostilePty, AWorkerThatOnlyDiesIsLostAndNoMore) {
  const auto started = start({"exit", ""});
  ASSERT_EQ(started.status, 201) << started.body;
  const auto ended = broker.ended(started.at("/session/id"), token);
  EXPECT_EQ(ended.at("/session/failureCode"), "worker_lost") << ended.body;
}

// Each has its patience; all run out at the same time.
TEST_F(HostilePty, AWorkerThatNeverAnswersReadsOrDrainsIsFound) {
  std::vector<std::thread> waiting;
  const auto meanwhile = [&waiting](auto act) { waiting.emplace_back(act); };
  meanwhile([this]() { expectMisbehaved({{"answers_never_read", ""}}, "does_not_read"); });
  for (const char* scenario : {"attach_never_answered", "attach_throws"}) {
    meanwhile([this, scenario]() {
      const auto answered = start({scenario, ""});
      EXPECT_EQ(answered.status, 502) << scenario << answered.body;
      EXPECT_EQ(answered.code(), "worker_misbehaved") << scenario;
      EXPECT_EQ(answered.body.find("shadow"), std::string::npos);
    });
  }
  meanwhile([this]() {
    const auto ended = broker.ended(start({"silent", ""}, "").at("/session/id"), token);
    EXPECT_EQ(ended.at("/session/failureCode"), "worker_misbehaved") << ended.body;
  });
  meanwhile([this]() {
    const auto target = "/v1/terminal/sessions/" + start({"input_never_answered", ""}).at("/session/id");
    const auto refused = broker.post(target + "/input", R"({"data":"x\n"})", token, uniqueKey());
    EXPECT_EQ(refused.status, 422) << refused.body;
    EXPECT_EQ(broker.post(target + "/kill", "{}", token, uniqueKey()).status, 200);
  });
  for (auto& each : waiting) each.join();
  EXPECT_EQ(broker.log().find("shadow"), std::string::npos);
}

TEST_F(HostilePty, LiesInADenialReachNobody) {
  const auto started = start({"input_lies", ""});
  const auto session = started.at("/session/id");
  const auto target = "/v1/terminal/sessions/" + session + "/input";
  const auto refused = broker.post(target, R"({"data":"x\n"})", token, uniqueKey());
  EXPECT_EQ(refused.status, 422) << refused.body;
  const auto seen = broker.get("/v1/terminal/sessions/" + session, token);
  const auto audit = broker.cli({"--json", "audit", "list"}).out;
  for (const auto& text : {refused.body, seen.body, audit, broker.log()}) {
    EXPECT_EQ(text.find("canary-of-a-lying"), std::string::npos);
    EXPECT_EQ(text.find("shadow"), std::string::npos);
  }
  broker.post("/v1/terminal/sessions/" + session + "/kill", "{}", token, uniqueKey());

  const auto endless = start({"denial_too_large", ""}).at("/session/id");
  broker.post("/v1/terminal/sessions/" + endless + "/input", R"({"data":"x\n"})", token, uniqueKey());
  EXPECT_EQ(broker.ended(endless, token).at("/session/failureCode"), "worker_misbehaved");
}

// 40 000 of them, where the broker may hold 4 096.
TEST_F(HostilePty, SurplusDescriptorsAreClosed) {
  const auto session = start({"surplus_descriptors", ""}, "; echo done").at("/session/id");
  const auto ended = broker.ended(session, token);
  EXPECT_EQ(ended.at("/session/outcome"), "succeeded") << logLine(session);
  for (int round = 0; round < 3; ++round) runHonest("again");
}

TEST_F(HostilePty, FloodsThatKeepTheProtocolDelayNobody) {
  const auto honest =
      broker.propose(R"("shell":"while :; do echo tick; sleep 0.02; done","cols":80)", token, uniqueKey());
  const auto quiet = honest.at("/session/id");
  const auto ticks = [&]() {
    return broker.get("/v1/terminal/sessions/" + quiet, token).number("/session/lines");
  };
  for (const char* flood : {"silent", "flood_of_calls", "flood_of_bytes", "flood_of_bootstraps"}) {
    SCOPED_TRACE(flood);
    const auto started = start({flood, ""});
    ASSERT_EQ(started.status, 201) << started.body;
    const auto before = ticks();
    {
      Latency reads([&]() {
        return [&]() { return broker.get("/v1/terminal/sessions/" + quiet, token).status == 200; };
      });
      Latency previews([&]() {
        return [&]() {
          return broker.post("/v1/terminal/preview", R"({"workspace":"demo","command":["true"]})", token)
                     .status == 200;
        };
      });
      EXPECT_TRUE(eventually([&]() { return ticks() > before + 40; })) << "another session's output goes on";
      reads.expectServed((std::string(flood) + ".read").c_str());
      previews.expectServed((std::string(flood) + ".preview").c_str());
    }
    const auto session = started.at("/session/id");
    EXPECT_EQ(broker.post("/v1/terminal/sessions/" + session + "/kill", "{}", token, uniqueKey()).status,
              200);
    broker.ended(session, token);
  }
  broker.post("/v1/terminal/sessions/" + quiet + "/kill", "{}", token, uniqueKey());
}

}  // namespace
}  // namespace factionos::test
