// Readiness over the real container worker, with engines of the test's own making: each is asked by itself,
// and one that stands still costs what it costs and hides nobody else.
#include <string>

#include "live_broker.h"
#include "tests/integration/container/fake_engine.h"

namespace factionos::test {
namespace {

constexpr const char* kPodman =
    R"({"Components":[{"Name":"Podman Engine"}],"ApiVersion":"1.41","MinAPIVersion":"1.24","Os":"linux"})";

struct Engines {
  FakeEngine docker;
  FakeEngine podman;

  Engines() {
    podman.on("GET /version", [](const FakeEngine::Call& call) { call.reply(200, kPodman); });
    podman.on("GET /v4.0.0/libpod/info", [](const FakeEngine::Call& call) {
      call.reply(200,
                 R"({"host":{"security":{"rootless":true},"cgroupControllers":["cpu","memory","pids"]}})");
    });
    for (auto* engine : {&docker, &podman})
      engine->on("GET /containers/json", [](const FakeEngine::Call& call) { call.reply(200, "[]"); });
  }
  std::string lines() const {
    return "docker = \"" + docker.socketPath() + "\"\npodman = \"" + podman.socketPath() + "\"";
  }
};

void standStill(FakeEngine& engine) {
  engine.on("GET /version", [](const FakeEngine::Call& call) { call.hold(); });
}

TEST(EngineReadiness, OneThatStandsStillHidesNoOther) {
  for (const bool dockerHangs : {true, false}) {
    Engines engines;
    standStill(dockerHangs ? engines.docker : engines.podman);
    LiveBroker broker({.engines = engines.lines()});
    const auto reply = broker.get("/v1/container/readiness", broker.token());
    ASSERT_EQ(reply.status, 200) << reply.body;
    const std::string still = dockerHangs ? "docker" : "podman";
    const std::string answers = dockerHangs ? "podman" : "docker";
    EXPECT_EQ(reply.at("/readiness/" + still), "timeout") << reply.body;
    EXPECT_EQ(reply.at("/readiness/" + still + "Reason"), "engine_timeout")
        << "the worker's own bound: worker_timeout would be the broker's, which is twice as long";
    EXPECT_EQ(reply.at("/readiness/" + answers), "available") << reply.body;
    EXPECT_EQ(reply.at("/readiness/runtime"), answers);
    EXPECT_EQ(reply.at("/readiness/isolation"), "available");
    EXPECT_EQ(reply.at("/readiness/rootless"), "true");
    EXPECT_EQ(reply.at("/readiness/image"), "unavailable");
    EXPECT_EQ(reply.at("/readiness/cleanup"), "by_label");
    EXPECT_EQ(reply.at("/readiness/fallbackReason"), "image");
  }
}

TEST(EngineReadiness, AllThatStandStillAreToldTogether) {
  Engines engines;
  standStill(engines.docker);
  standStill(engines.podman);
  LiveBroker broker({.engines = engines.lines()});
  const auto reply = broker.get("/v1/container/readiness", broker.token());
  EXPECT_EQ(reply.at("/readiness/dockerReason"), "engine_timeout") << reply.body;
  EXPECT_EQ(reply.at("/readiness/podmanReason"), "engine_timeout") << reply.body;
  EXPECT_EQ(reply.at("/readiness/fallbackReason"), "engine");
  EXPECT_EQ(reply.at("/readiness/appleReason"), "unsupported_platform");
}

}  // namespace
}  // namespace factionos::test
