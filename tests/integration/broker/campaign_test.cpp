// Campaigns: order, circles, and the same guards as tasks.
#include "container_agent.h"

namespace factionos::test {
namespace {

std::string member(const std::string& name, const std::string& made, const std::string& after = {}) {
  return R"({"name":")" + name + "\"," + ContainerAgent::task(made) +
         (after.empty() ? "" : R"(,"after":[)" + after + "]") + "}";
}

std::string campaign(const std::string& tasks) {
  return R"("name":"release","tasks":[)" + tasks + "]";
}

TEST(Campaign, ItsTasksAreDispatchedInTheirOrder) {
  ContainerAgent agent;
  const auto made =
      agent.post("/v1/campaigns",
                 campaign(member("deploy", "echo", R"("build","check")") + "," + member("build", "echo") +
                          "," + member("check", "echo", R"("build")")),
                 "c");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.at("/campaign/tasks/0/state"), "blocked");
  EXPECT_EQ(made.at("/campaign/tasks/1/state"), "queued");
  EXPECT_EQ(agent.starts(), 0U);
  const auto id = made.at("/campaign/id");
  const auto get = [&]() { return agent.get("/v1/campaigns/" + id); };
  for (const char* place : {"1", "2", "0"}) {
    const auto revision = get().number("/campaign/revision");
    const auto dispatched =
        agent.post("/v1/campaigns/" + id + "/dispatch", ContainerAgent::expected(revision));
    ASSERT_EQ(dispatched.status, 201) << dispatched.body;
    EXPECT_EQ(agent.post("/v1/campaigns/" + id + "/dispatch", ContainerAgent::expected(revision)).code(),
              "stale_revision");
    EXPECT_TRUE(eventually([&]() {
      return get().at("/campaign/tasks/" + std::string(place) + "/state") == "succeeded";
    })) << place
        << get().body;
  }
  EXPECT_EQ(get().at("/campaign/state"), "succeeded");
  EXPECT_EQ(agent.starts(), 3U);
  EXPECT_EQ(agent.get("/v1/campaigns").at("/campaigns/0/counts/0/count"), "3");
  EXPECT_FALSE(agent.get("/v1/campaigns").has("/campaigns/0/tasks"));
  EXPECT_EQ(agent
                .post("/v1/campaigns",
                      campaign(member("deploy", "echo", R"("build","check")") + "," +
                               member("build", "echo") + "," + member("check", "echo", R"("build")")),
                      "c")
                .body,
            made.body);
}

TEST(Campaign, ACircleIsRefused) {
  ContainerAgent agent;
  for (const auto& tasks :
       {member("a", "echo", R"("a")"), member("a", "echo", R"("b")") + "," + member("b", "echo", R"("a")"),
        member("a", "echo", R"("c")") + "," + member("b", "echo", R"("a")") + "," +
            member("c", "echo", R"("b")"),
        member("a", "echo") + "," + member("a", "echo"), member("a", "echo", R"("nobody")"), std::string()}) {
    const auto reply = agent.post("/v1/campaigns", campaign(tasks));
    EXPECT_EQ(reply.code(), "invalid_request") << tasks << reply.body;
  }
  EXPECT_EQ(agent.get("/v1/campaigns").body.find("cmp_"), std::string::npos);
  EXPECT_EQ(agent.get("/v1/queue/tasks").body.find("tsk_"), std::string::npos);
}

TEST(Campaign, AnApprovalIsForTheTaskThatItWasGivenFor) {
  ContainerAgent agent(ContainerAgent::Policy::kShipped);
  const auto id = agent.post("/v1/campaigns", campaign(member("a", "echo") + "," + member("b", "seven")))
                      .at("/campaign/id");
  const auto dispatch = "/v1/campaigns/" + id + "/dispatch";
  const auto proposed = agent.post(dispatch, ContainerAgent::expected(1), "d");
  ASSERT_EQ(proposed.status, 202) << proposed.body;
  EXPECT_EQ(proposed.at("/action/target"), "demo/echo");
  const auto action = proposed.at("/action/id");
  ASSERT_EQ(agent.broker().approve(action).status, 0);
  const auto started =
      agent.post(dispatch, ContainerAgent::expected(1), "d", ContainerAgent::approval(action));
  ASSERT_EQ(started.status, 201) << started.body;
  EXPECT_EQ(started.at("/run/template"), "echo");
  EXPECT_EQ(agent.ended(started.at("/run/id")).at("/run/state"), "succeeded");
  EXPECT_EQ(agent.post(dispatch, ContainerAgent::expected(1), "d").body, started.body);
  EXPECT_EQ(agent.starts(), 1U);
}

TEST(Campaign, ACancelEndsWhatRunsAndWhatWaits) {
  ContainerAgent agent;
  const auto id =
      agent.post("/v1/campaigns", campaign(member("a", "sleep") + "," + member("b", "echo", R"("a")")))
          .at("/campaign/id");
  ASSERT_EQ(agent.post("/v1/campaigns/" + id + "/dispatch", ContainerAgent::expected(1)).status, 201);
  const auto other = agent.broker().token("read,propose", "other");
  const auto cancel = "/v1/campaigns/" + id + "/cancel";
  EXPECT_EQ(agent.broker().post(cancel, "{" + ContainerAgent::expected(2) + "}", other, "k").status, 403);
  ASSERT_EQ(agent.post(cancel, ContainerAgent::expected(2)).status, 200);
  EXPECT_TRUE(eventually([&]() {
    return agent.get("/v1/campaigns/" + id).at("/campaign/state") == "cancelled";
  })) << agent.get("/v1/campaigns/" + id).body;
  EXPECT_EQ(agent.containers(), 0U);
  EXPECT_EQ(agent.starts(), 1U);
}

}  // namespace
}  // namespace factionos::test
