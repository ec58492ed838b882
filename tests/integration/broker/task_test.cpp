// Tasks: what they need, who may order what, and that nothing is dispatched twice.
#include <atomic>
#include <csignal>
#include <thread>

#include "container_agent.h"

namespace factionos::test {
namespace {

using Policy = ContainerAgent::Policy;

std::string dispatchOf(const std::string& task) {
  return "/v1/queue/tasks/" + task + "/dispatch";
}

TEST(TaskQueue, ATaskRunsThroughTheSameBoundaryAsARun) {
  ContainerAgent agent(Policy::kShipped);
  const auto created =
      agent.post("/v1/queue/tasks", ContainerAgent::task("echo", R"(,"name":"first")"), "t1");
  ASSERT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(agent.post("/v1/queue/tasks", ContainerAgent::task("echo", R"(,"name":"first")"), "t1").body,
            created.body);
  const auto task = created.at("/task/id");
  EXPECT_EQ(created.at("/task/state"), "queued");
  EXPECT_EQ(created.at("/task/attempt"), "1");
  EXPECT_EQ(agent.starts(), 0U);
  const auto proposed = agent.post(dispatchOf(task), ContainerAgent::expected(1), "d1");
  ASSERT_EQ(proposed.status, 202) << proposed.body;
  EXPECT_EQ(proposed.at("/action/card/operationClass"), "container.run");
  EXPECT_EQ(proposed.at("/action/card/target"), "demo/echo");
  EXPECT_EQ(agent.get("/v1/queue/tasks/" + task).at("/task/state"), "waiting");
  EXPECT_EQ(agent.starts(), 0U) << "nothing runs without the approval";
  const auto action = proposed.at("/action/id");
  ASSERT_EQ(agent.broker().approve(action).status, 0);
  const auto started =
      agent.post(dispatchOf(task), ContainerAgent::expected(1), "d1", ContainerAgent::approval(action));
  ASSERT_EQ(started.status, 201) << started.body;
  const auto done = agent.taskUntil(task, "succeeded");
  EXPECT_EQ(done.at("/task/runId"), started.at("/run/id"));
  EXPECT_EQ(done.at("/task/runtime"), "docker");
  EXPECT_EQ(done.at("/task/cleanup"), "removed");
  EXPECT_EQ(done.body.find("hello"), std::string::npos);
  EXPECT_EQ(agent.get("/v1/container/runs/" + started.at("/run/id")).at("/run/taskId"), task);
  EXPECT_EQ(agent.starts(), 1U);
}

TEST(TaskQueue, ADoubleClickAndASecondDashboardDispatchOnce) {
  ContainerAgent agent;
  const auto task = agent.queued("nap");
  std::atomic<int> ran{0}, replayed{0}, conflicts{0}, other{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i]() {
      // Half of them with one key, as a double click; the others with their own, as other dashboards.
      const auto key = i % 2 == 0 ? std::string("click") : "dashboard-" + std::to_string(i);
      const auto reply = agent.post(dispatchOf(task), ContainerAgent::expected(1), key);
      if (reply.headers.contains("idempotency-replayed")) {
        ++replayed;
      } else if (reply.status == 201) {
        ++ran;
      } else if (reply.status == 409) {
        ++conflicts;
      } else {
        ++other;
        ADD_FAILURE() << reply.status << reply.body;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(ran + replayed + conflicts, 8);
  agent.taskUntil(task, "succeeded");
  EXPECT_EQ(agent.starts(), 1U);
  // A stale tab: what it saw is not what is.
  const auto stale = agent.post(dispatchOf(task), ContainerAgent::expected(1));
  EXPECT_EQ(stale.code(), "stale_revision") << stale.body;
  EXPECT_EQ(stale.at("/currentRevision"), "2");
  EXPECT_EQ(agent.post(dispatchOf(task), ContainerAgent::expected(2)).code(), "already_decided");
  EXPECT_EQ(agent.starts(), 1U);
}

TEST(TaskQueue, AWaitingTaskIsNotProposedASecondTime) {
  ContainerAgent agent(Policy::kShipped);
  const auto task = agent.queued("echo");
  ASSERT_EQ(agent.post(dispatchOf(task), ContainerAgent::expected(1), "one").status, 202);
  EXPECT_EQ(agent.post(dispatchOf(task), ContainerAgent::expected(1), "two").code(), "stale_revision");
  EXPECT_EQ(agent.post(dispatchOf(task), ContainerAgent::expected(2), "three").code(), "in_flight");
  EXPECT_EQ(agent.get("/v1/actions?state=proposed").at("/actions/1/id"), "");
}

TEST(TaskQueue, ATaskWaitsForThoseThatItNeeds) {
  ContainerAgent agent;
  const auto first = agent.queued("seven");
  const auto second = agent.queued("echo", R"(,"after":[")" + first + "\"]");
  EXPECT_EQ(agent.get("/v1/queue/tasks/" + second).at("/task/state"), "blocked");
  EXPECT_EQ(agent.get("/v1/queue/tasks/" + second).at("/task/reason"), "needs_unmet");
  EXPECT_EQ(agent.post(dispatchOf(second), ContainerAgent::expected(1)).code(), "resource_busy");
  ASSERT_EQ(agent.post(dispatchOf(first), ContainerAgent::expected(1)).status, 201);
  const auto failed = agent.taskUntil(first, "failed");
  EXPECT_EQ(failed.at("/task/reason"), "exit_status");
  EXPECT_EQ(failed.at("/task/retryable"), "true");
  EXPECT_EQ(agent.get("/v1/queue/tasks/" + second).at("/task/reason"), "needs_failed");
  EXPECT_EQ(agent.starts(), 1U);
  const auto third = agent.queued("echo");
  const auto fourth = agent.queued("echo", R"(,"after":[")" + third + "\"]");
  ASSERT_EQ(agent.post(dispatchOf(third), ContainerAgent::expected(1)).status, 201);
  agent.taskUntil(third, "succeeded");
  EXPECT_EQ(agent.get("/v1/queue/tasks/" + fourth).at("/task/state"), "queued");
  EXPECT_EQ(agent
                .post("/v1/queue/tasks",
                      ContainerAgent::task("echo", R"(,"after":["tsk_)" + std::string(26, '0') + "\"]"))
                .status,
            404);
}

TEST(TaskQueue, ARetryIsANewAttempt) {
  ContainerAgent agent;
  const auto task = agent.queued("seven");
  const auto retry = "/v1/queue/tasks/" + task + "/retry";
  EXPECT_EQ(agent.post(retry, ContainerAgent::expected(1)).code(), "already_decided");
  const auto first = agent.post(dispatchOf(task), ContainerAgent::expected(1)).at("/run/id");
  const auto revision = agent.taskUntil(task, "failed").number("/task/revision");
  EXPECT_EQ(agent.post(retry, ContainerAgent::expected(revision + 1)).code(), "stale_revision");
  const auto again = agent.post(retry, ContainerAgent::expected(revision), "r");
  ASSERT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.at("/task/attempt"), "2");
  EXPECT_EQ(again.at("/task/state"), "queued");
  EXPECT_EQ(agent.post(retry, ContainerAgent::expected(revision), "r").at("/task/attempt"), "2");
  EXPECT_EQ(agent.starts(), 1U) << "a retry queues and runs nothing";
  const auto second = agent.post(dispatchOf(task), ContainerAgent::expected(revision + 1));
  ASSERT_EQ(second.status, 201) << second.body;
  EXPECT_NE(second.at("/run/id"), first);
  agent.taskUntil(task, "failed");
  EXPECT_EQ(agent.starts(), 2U);
  for (const auto& [run, attempt] : {std::pair{first, "1"}, std::pair{second.at("/run/id"), "2"}}) {
    const auto seen = agent.get("/v1/container/runs/" + run);
    EXPECT_EQ(seen.at("/run/taskId"), task) << seen.body;
    EXPECT_EQ(seen.at("/run/attempt"), attempt) << seen.body;
  }
}

TEST(TaskQueue, H14ATaskIsCancelledWhereverItStands) {
  ContainerAgent agent;
  const auto cancel = [&](const std::string& id, std::uint64_t revision) {
    return agent.post("/v1/queue/tasks/" + id + "/cancel", ContainerAgent::expected(revision));
  };
  const auto queued = agent.queued("echo");
  EXPECT_EQ(cancel(queued, 1).at("/task/state"), "cancelled");
  EXPECT_EQ(agent.post(dispatchOf(queued), ContainerAgent::expected(2)).code(), "already_decided");
  const auto running = agent.queued("sleep");
  ASSERT_EQ(agent.post(dispatchOf(running), ContainerAgent::expected(1)).status, 201);
  const auto other = agent.broker().token("read,propose", "other");
  EXPECT_EQ(
      agent.broker()
          .post("/v1/queue/tasks/" + running + "/cancel", "{" + ContainerAgent::expected(2) + "}", other, "k")
          .status,
      403);
  ASSERT_EQ(cancel(running, 2).status, 200);
  const auto ended = agent.taskUntil(running, "cancelled");
  EXPECT_EQ(agent.containers(), 0U);
  EXPECT_EQ(cancel(running, ended.number("/task/revision")).status, 200) << "what has ended stays as it is";
  const auto done = agent.queued("echo");
  ASSERT_EQ(agent.post(dispatchOf(done), ContainerAgent::expected(1)).status, 201);
  agent.taskUntil(done, "succeeded");
  EXPECT_EQ(cancel(done, 2).at("/task/state"), "succeeded");
}

TEST(TaskQueue, WhatIsCancelledWhileItWaitsIsNotRunByItsApproval) {
  ContainerAgent agent(Policy::kShipped);
  const auto task = agent.queued("echo");
  const auto proposed = agent.post(dispatchOf(task), ContainerAgent::expected(1), "d");
  const auto action = proposed.at("/action/id");
  ASSERT_EQ(agent.post("/v1/queue/tasks/" + task + "/cancel", ContainerAgent::expected(2)).status, 200);
  ASSERT_EQ(agent.broker().approve(action).status, 0);
  const auto late =
      agent.post(dispatchOf(task), ContainerAgent::expected(1), "d", ContainerAgent::approval(action));
  EXPECT_EQ(late.status, 409) << late.body;
  EXPECT_EQ(late.code(), "already_decided");
  EXPECT_EQ(agent.starts(), 0U);
}

TEST(TaskQueue, AnyOtherKindIsRefusedByName) {
  ContainerAgent agent;
  for (const char* kind : {"shell", "terminal", "docker", "Container", "remote"}) {
    const auto reply = agent.post("/v1/queue/tasks", R"("workspace":"demo","executable":{"kind":")" +
                                                         std::string(kind) + R"(","template":"echo"})");
    EXPECT_EQ(reply.status, 400) << kind;
    EXPECT_EQ(reply.at("/field"), "executable.kind") << reply.body;
    EXPECT_EQ(reply.body.find(kind == std::string("Container") ? "Container\"" : "\"" + std::string(kind)),
              std::string::npos)
        << "echoed";
  }
  EXPECT_EQ(agent.post("/v1/queue/tasks", R"("workspace":"demo","template":"echo")").status, 400);
}

TEST(TaskQueue, AMissingGateLeavesTheTaskQueued) {
  ContainerAgent agent;
  const auto task = agent.queued("absent");
  EXPECT_EQ(agent.post(dispatchOf(task), ContainerAgent::expected(1), "d").code(), "image_unavailable");
  const auto still = agent.get("/v1/queue/tasks/" + task);
  EXPECT_EQ(still.at("/task/state"), "queued");
  EXPECT_EQ(still.at("/task/revision"), "1");
}

TEST(TaskQueue, PolicyMayCloseTheQueue) {
  ContainerAgent agent(Policy::kShipped);
  writeFile(
      agent.broker().home() + "/policy.toml",
      "[[rule]]\nfamily = \"container\"\noperation = \"task\"\nnetwork = \"egress\"\ndecision = \"deny\"\n"
      "[[rule]]\nfamily = \"*\"\noperation = \"*\"\ndecision = \"ask\"\n");
  ASSERT_EQ(agent.broker().cli({"policy", "reload"}).status, 0);
  EXPECT_EQ(agent.post("/v1/queue/tasks", ContainerAgent::task("egress")).status, 201);
  const auto closed =
      agent.post("/v1/queue/tasks", ContainerAgent::task("egress", R"(,"networkProfile":"egress")"));
  EXPECT_EQ(closed.code(), "policy_blocked") << closed.body;
  const auto check = [&](const std::string& network) {
    return agent.broker()
        .cli({"policy", "check", "--family", "container", "--operation", "task", "--network", network})
        .status;
  };
  EXPECT_EQ(check("none"), 0) << "the checker and the broker say the same";
  EXPECT_EQ(check("egress"), 3);
}

TEST(TaskQueue, ItSurvivesARestart) {
  ContainerAgent agent;
  const auto task = agent.queued("sleep");
  ASSERT_EQ(agent.post(dispatchOf(task), ContainerAgent::expected(1), "d").status, 201);
  const auto queued = agent.queued("echo");
  kill(agent.broker().pid(), SIGKILL);
  agent.broker().process().finish();
  agent.broker().start();
  const auto lost = agent.taskUntil(task, "failed");
  EXPECT_EQ(lost.at("/task/reason"), "lost_in_crash") << lost.body;
  EXPECT_EQ(agent.get("/v1/queue/tasks/" + queued).at("/task/state"), "queued");
  EXPECT_EQ(agent.containers(), 0U);
  EXPECT_EQ(agent.get("/v1/command-center").at("/commandCenter/tasks/0/id"), queued);
}

}  // namespace
}  // namespace factionos::test
