// How runs end: by themselves, by hand, by a limit, with their worker, with the broker.
#include <csignal>
#include <fstream>

#include "container_agent.h"

namespace factionos::test {
namespace {

struct End {
  const char* made;
  const char* state;
  const char* failure;
  const char* exit;
};

TEST(ContainerLife, EachEndIsToldApart) {
  ContainerAgent agent;
  for (const auto& [made, state, failure, exit] :
       {End{"seven", "failed", "exit_status", "7"}, End{"processes", "failed", "processes_reached", "1"},
        End{"memory", "failed", "out_of_memory", "137"}, End{"short", "timed_out", "timed_out", "137"}}) {
    const auto ended = agent.outcome(made);
    EXPECT_EQ(ended.at("/run/state"), state) << made << ended.body;
    EXPECT_EQ(ended.at("/run/failureCode"), failure) << made;
    EXPECT_EQ(ended.at("/run/exit/code"), exit) << made;
    EXPECT_EQ(ended.at("/run/cleanup"), "removed") << made;
    EXPECT_FALSE(ended.at("/run/recovery").empty()) << made;
  }
  EXPECT_EQ(agent.containers(), 0U);
  EXPECT_EQ(agent.broker().log().find("output_unreadable"), std::string::npos) << "the control";
  EXPECT_EQ(agent.outcome("garbled").at("/run/state"), "succeeded");
  EXPECT_TRUE(
      eventually([&]() { return agent.broker().log().find("output_unreadable") != std::string::npos; }));
}

TEST(ContainerLife, WhatIsNeverStartedFailsWithItsCause) {
  ContainerAgent agent;
  const auto missing = agent.post("/v1/container/run", ContainerAgent::run("no-image"), "k");
  EXPECT_EQ(missing.code(), "image_unavailable") << missing.body;
  EXPECT_EQ(agent.post("/v1/container/run", ContainerAgent::run("no-image"), "k").body, missing.body);
  EXPECT_EQ(agent.post("/v1/container/run", ContainerAgent::run("not-as-meant")).code(),
            "sandbox_unavailable");
  EXPECT_EQ(agent.get("/v1/container/runs").at("/runs/0/failureCode"), "not_as_meant");
}

TEST(ContainerLife, H3OutputIsDrainedBoundedAndCounted) {
  ContainerAgent agent;
  const auto ended = agent.outcome("flood");
  EXPECT_EQ(ended.at("/run/state"), "succeeded") << ended.at("/run/failureCode");
  EXPECT_GE(ended.number("/run/totalBytes"), 8388608U) << "markers of gaps are shown too";
  EXPECT_EQ(ended.at("/run/output/truncated"), "true");
  EXPECT_GE(ended.number("/run/droppedBytes"), 7U << 20);
  EXPECT_LE(ended.body.size(), 3U << 20);
}

TEST(ContainerLife, H14TheOwnerEndsItAndNobodyElse) {
  ContainerAgent agent;
  const auto started = agent.post("/v1/container/run", ContainerAgent::run("sleep"));
  const auto run = started.at("/run/id");
  const auto other = agent.broker().token("read,propose", "other");
  EXPECT_EQ(agent.broker().post("/v1/container/runs/" + run + "/kill", "{}", other, "k").status, 403);
  EXPECT_EQ(agent.post("/v1/container/runs/" + run + "/kill", "", "").code(), "idempotency_key_required");
  EXPECT_EQ(agent.get("/v1/container/runs/" + run).at("/run/state"), "executing");
  const auto killed = agent.post("/v1/container/runs/" + run + "/kill", "", "k2");
  EXPECT_EQ(killed.status, 200) << killed.body;
  const auto ended = agent.ended(run);
  EXPECT_EQ(ended.at("/run/failureCode"), "killed") << ended.body;
  const auto again = agent.post("/v1/container/runs/" + run + "/kill", "", "k2");
  EXPECT_EQ(again.headers.at("idempotency-replayed"), "true");
  EXPECT_EQ(agent.post("/v1/container/runs/" + run + "/kill", "", "k3").status, 200);
  EXPECT_EQ(agent.containers(), 0U);
}

TEST(ContainerLife, P80AWorkerThatIsKilledLeavesNothing) {
  ContainerAgent agent;
  const auto run = agent.post("/v1/container/run", ContainerAgent::run("sleep")).at("/run/id");
  ASSERT_EQ(agent.containers(), 1U);
  const auto worker = agent.broker().child("container");
  ASSERT_GT(worker, 0);
  kill(worker, SIGKILL);
  const auto ended = agent.ended(run);
  EXPECT_EQ(ended.at("/run/state"), "failed") << ended.body;
  EXPECT_EQ(ended.at("/run/failureCode"), "worker_lost");
  EXPECT_EQ(ended.at("/run/cleanup"), "removed");
  EXPECT_EQ(agent.containers(), 0U);
  EXPECT_EQ(agent.outcome("echo").at("/run/state"), "succeeded") << "the next one has a new worker";
}

// What it left untold is not held against the engine: the next worker is asked at once.
TEST(ContainerLife, AWorkerThatDiesWhileItIsAskedRefusesNothingButWhatAskedIt) {
  ContainerAgent agent;
  agent.engineFile("die-at-probe");
  const auto refused = agent.post("/v1/container/run", ContainerAgent::run("echo"));
  EXPECT_EQ(refused.code(), "engine_unavailable") << refused.body;
  EXPECT_EQ(agent.starts(), 0U);
  EXPECT_EQ(agent.outcome("echo").at("/run/state"), "succeeded");
}

TEST(ContainerLife, AWorkerThatDiesAtTheStartLeavesNothing) {
  ContainerAgent agent;
  const auto reply = agent.post("/v1/container/run", ContainerAgent::run("die"));
  EXPECT_GE(reply.status, 201);
  EXPECT_TRUE(eventually([&]() { return agent.containers() == 0; }));
  EXPECT_EQ(agent.get("/v1/container/runs").at("/runs/0/state"), "failed");
}

TEST(ContainerLife, AMisbehavingWorkerIsKilledAndTheBrokerServesOn) {
  ContainerAgent agent;
  for (const char* made : {"bad-outcome", "bad-stream", "bad-chunk", "bad-call", "bad-interface"}) {
    const auto started = agent.post("/v1/container/run", ContainerAgent::run(made));
    ASSERT_GE(started.status, 201) << started.body;
    EXPECT_TRUE(eventually([&]() {
      return agent.get("/v1/container/runs").at("/runs/0/failureCode") == "worker_misbehaved";
    })) << made
        << agent.get("/v1/container/runs").body;
    EXPECT_TRUE(eventually([&]() { return agent.containers() == 0; })) << made;
  }
  EXPECT_NE(agent.broker().log().find("worker_misbehaved"), std::string::npos);
  EXPECT_EQ(agent.outcome("echo").at("/run/state"), "succeeded");
}

TEST(ContainerLife, P80ABrokerThatIsKilledRunsNothingTwiceAndItsContainerGoes) {
  ContainerAgent agent;
  const auto started = agent.post("/v1/container/run", ContainerAgent::run("sleep"), "k");
  const auto run = started.at("/run/id");
  ASSERT_EQ(agent.containers(), 1U);
  kill(agent.broker().pid(), SIGKILL);
  agent.broker().process().finish();
  agent.broker().start();
  const auto ended = agent.ended(run);
  EXPECT_EQ(ended.at("/run/state"), "failed") << ended.body;
  EXPECT_EQ(ended.at("/run/failureCode"), "lost_in_crash");
  EXPECT_EQ(ended.at("/run/cleanup"), "removed");
  EXPECT_EQ(agent.containers(), 0U);
  agent.post("/v1/container/run", ContainerAgent::run("sleep"), "k");
  EXPECT_EQ(agent.starts(), 1U) << "ran again";
}

// After a crash of the broker: what its engine says of it, and what the run says then.
struct Ended {
  const char* engine;
  const char* state;
  const char* failure;
  const char* exit;  // its code; empty: nobody can tell
};

TEST(ContainerLife, ARunThatEndedWhileNobodyWatchedIsToldByItsLabels) {
  ContainerAgent agent;
  for (const auto& [engine, state, failure, exit] :
       {Ended{"ended\nexit 0", "succeeded", "", "0"}, Ended{"ended\nexit 7", "failed", "exit_status", "7"},
        Ended{"ended\nexit -1", "failed", "lost_in_crash", ""}, Ended{"ended", "failed", "lost_in_crash", ""},
        Ended{"ended\nexit 256", "failed", "lost_in_crash", ""},
        Ended{"running\nexit 0", "failed", "lost_in_crash", ""}}) {
    const auto started = agent.post("/v1/container/run", ContainerAgent::run("sleep"));
    const auto action = started.at("/action/id");
    kill(agent.broker().pid(), SIGKILL);
    agent.broker().process().finish();
    auto labels = readFile(agent.folder() + "/" + action);
    labels.replace(labels.find("running"), 7, engine);
    agent.engineFile(action, labels);
    agent.broker().start();
    const auto ended = agent.ended(started.at("/run/id"));
    EXPECT_EQ(ended.at("/run/state"), state) << engine << ended.body;
    EXPECT_EQ(ended.at("/run/failureCode"), failure) << engine;
    EXPECT_EQ(ended.at("/run/exit/code"), exit) << engine;
    EXPECT_EQ(ended.has("/run/exit/lost"), *exit == '\0') << engine;
    EXPECT_EQ(agent.containers(), 0U);
  }
}

TEST(ContainerLife, CleanupRemovesOurOwnLeftoversAlone) {
  ContainerAgent agent;
  agent.outcome("left");
  ASSERT_EQ(agent.containers(), 1U) << "the engine could not remove it";
  const auto action = agent.get("/v1/container/runs").at("/runs/0/actionId");
  EXPECT_EQ(agent.get("/v1/container/runs").at("/runs/0/cleanup"), "left");
  // One with our labels and another's proof, and one that runs.
  auto forged = readFile(agent.folder() + "/" + action);
  const auto other = "act_" + std::string(26, '0');
  for (auto at = forged.find(action); at != forged.npos; at = forged.find(action))
    forged.replace(at, 30, other);
  forged.replace(forged.find("run run_") + 4, 30, "run_" + std::string(26, '0'));
  agent.engineFile(other, forged);
  const auto run = agent.post("/v1/container/run", ContainerAgent::run("sleep")).at("/run/id");
  const auto cleaned = agent.post("/v1/container/cleanup", "");
  EXPECT_EQ(cleaned.status, 200) << cleaned.body;
  EXPECT_EQ(cleaned.at("/removed"), "1");
  EXPECT_EQ(cleaned.at("/left"), "1");
  EXPECT_EQ(agent.containers(), 2U);
  EXPECT_EQ(agent.get("/v1/container/runs/" + run).at("/run/state"), "executing");
  agent.post("/v1/container/runs/" + run + "/kill", "");
  agent.ended(run);
}

TEST(ContainerLife, AShutdownEndsWhatRuns) {
  ContainerAgent agent;
  const auto run = agent.post("/v1/container/run", ContainerAgent::run("sleep")).at("/run/id");
  agent.broker().stop();
  EXPECT_EQ(agent.containers(), 0U);
  agent.broker().start();
  EXPECT_EQ(agent.ended(run).at("/run/failureCode"), "shutdown");
}

}  // namespace
}  // namespace factionos::test
