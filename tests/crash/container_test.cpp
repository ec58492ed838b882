// The family container: worker, launcher or broker dies while the engine stands at one call of a run, and the
// engine lives on. Nothing of ours stays in it, nothing runs twice, what became of the run is what the engine
// can still tell, and another instance's container is left alone.
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "process.h"
#include "tests/crash/container_engine.h"
#include "tests/crash/places.h"
#include "tests/crash/trial.h"

namespace factionos::test {
namespace {

using When = KeepingEngine::When;

struct Place {
  const char* name;
  const char* call;
  When when;
  const char* made;     // the template: "stay" runs until it is told to end, "brief" has ended at once
  const char* outcome;  // of a run that the broker still saw begin, or of one that never did
};

constexpr const char* kCreate = "POST /containers/create";
constexpr const char* kInspect = "GET /containers/ID/json";
constexpr const char* kAttach = "POST /containers/ID/attach";
constexpr const char* kWait = "POST /containers/ID/wait";
constexpr const char* kStart = "POST /containers/ID/start";
constexpr const char* kKill = "POST /containers/ID/kill";
constexpr const char* kRemove = "DELETE /containers/ID";

const Place kPlaces[] = {
    {"create_before", kCreate, When::kBefore, "stay", "failed"},
    {"create_after", kCreate, When::kAfter, "stay", "failed"},
    {"inspect", kInspect, When::kBefore, "stay", "failed"},
    {"attach", kAttach, When::kBefore, "stay", "failed"},
    {"wait", kWait, When::kBefore, "stay", "failed"},
    {"start_before", kStart, When::kBefore, "stay", "failed"},
    {"start_after", kStart, When::kAfter, "stay", "failed"},
    {"start_after_its_end", kStart, When::kAfter, "brief", "succeeded"},
    {"output", "output", When::kAfter, "stay", "failed"},
    {"stop_before", kKill, When::kBefore, "stay", "failed"},
    {"stop_after", kKill, When::kAfter, "stay", "failed"},
    {"remove_before", kRemove, When::kBefore, "brief", "succeeded"},
    // Its exit code went with it.
    {"remove_after", kRemove, When::kAfter, "brief", "failed"},
};

void configure(const Rig& rig, const KeepingEngine& engine) {
  auto config = readFile(rig.home() + "/config.toml");
  const std::string table = "[engines]\n";
  config.insert(config.find(table) + table.size(), "docker = \"" + engine.socketPath() + "\"\n");
  for (const std::string made : {"stay", "brief"})
    config += "[[template]]\nid = \"" + made + "\"\ncommand = [\"/bin/" + made + "\"]\nworktree = \"none\"\n";
  writeFile(rig.home() + "/config.toml", config);
  writeFile(
      rig.home() + "/policy.toml",
      "[[rule]]\nfamily = \"container\"\noperation = \"*\"\ndecision = \"allow\"\nuntil = "
      "2099-01-01T00:00:00Z\n[[rule]]\nfamily = \"*\"\noperation = \"read-only\"\ndecision = \"allow\"\n");
}

Reply run(const Rig& rig, const std::string& made, const std::string& key) {
  return rig.post("/v1/container/run", R"({"workspace":"demo","template":")" + made + "\"}", key);
}

// As a client does it: again where nothing came of it, and not where somebody is gone.
Reply insist(const Rig& rig, const std::string& made, const std::string& key) {
  Reply reply;
  for (int tries = 0; tries < 100; ++tries) {
    reply = run(rig, made, key);
    const bool again = reply.status == 0 || reply.status == 429 || reply.status == 503;
    if (!again || reply.has("/action/id") || reply.headers.contains("idempotency-replayed") ||
        !rig.reachable())
      break;
    pollPause();
  }
  return reply;
}

class ContainerRunAtEveryCall : public testing::TestWithParam<Place> {};
TEST_P(ContainerRunAtEveryCall, WhoeverIsKilledNothingOfItStaysAndItsEndIsToldTruly) {
  const auto& place = GetParam();
  KeepingEngine engine;
  Rig rig;
  configure(rig, engine);
  std::size_t starts = 0;
  for (const auto victim : {Victim::kContainer, Victim::kBroker, Victim::kLauncher}) {
    SCOPED_TRACE(std::string(place.name) + ", killed: " + nameOf(victim));
    if (!rig.alive()) rig.start();
    ASSERT_TRUE(rig.reachable() || rig.serving()) << rig.log();
    engine.stopAt({place.call, place.when});
    const std::string key = std::string("run-") + nameOf(victim);
    std::thread client([&]() {
      const auto reply = insist(rig, place.made, key);
      if (reply.status == 201 && place.call == std::string(kKill))
        rig.post("/v1/container/runs/" + reply.at("/run/id") + "/kill", "{}", key + "-kill");
    });
    EXPECT_TRUE(engine.stopped()) << rig.log();
    const auto all = rig.tree();
    const auto victims = rig.find(victim);
    EXPECT_FALSE(victims.empty());
    for (const auto pid : victims) ::kill(pid, SIGKILL);
    EXPECT_TRUE(Rig::gone(victims) || victim == Victim::kBroker);
    engine.goOn();
    if (victim != Victim::kContainer) {
      rig.runOut();
      client.join();
      EXPECT_TRUE(Rig::gone(all));
      rig.start();
      ASSERT_TRUE(rig.serving()) << rig.log();
    } else {
      client.join();
    }
    Reply seen;
    EXPECT_TRUE(eventually([&]() {
      seen = rig.get("/v1/container/runs");
      return isOutcome(seen.at("/runs/0/state"));
    })) << seen.body
        << rig.log();
    EXPECT_EQ(seen.at("/runs/0/state"), place.outcome) << seen.body;
    EXPECT_TRUE(eventually([&]() { return engine.count() == 0; })) << "it stayed";
    EXPECT_LE(engine.starts(), starts + 1);
    starts = engine.starts();
    run(rig, place.made, key);
    EXPECT_EQ(engine.starts(), starts) << "ran again";
    EXPECT_TRUE(engine.strangerStands());
  }
  EXPECT_TRUE(rig.verify().intact());
  EXPECT_EQ(rig.log().find("worker_misbehaved"), std::string::npos) << "killed, and no more";
  EXPECT_EQ(rig.stop(), 0) << rig.log();
  EXPECT_EQ(engine.count(), 0U);
}
INSTANTIATE_TEST_SUITE_P(Matrix, ContainerRunAtEveryCall, testing::ValuesIn(kPlaces),
                         [](const auto& each) { return each.param.name; });

// The engine makes it once its run has ended, and nobody asks anything any more: the later look finds it.
TEST(ContainerRecovery, AContainerThatIsMadeAfterItsRunNeverStartedIsRemoved) {
  KeepingEngine engine;
  Rig rig;
  configure(rig, engine);
  rig.start();
  ASSERT_TRUE(rig.serving()) << rig.log();
  EXPECT_TRUE(eventually([&]() { return engine.looks() >= 2; })) << "those of a start, of which none is left";
  engine.stopAt({kCreate, When::kBefore});
  Reply reply;
  std::thread client([&]() { reply = run(rig, "stay", "run"); });
  EXPECT_TRUE(engine.stopped()) << rig.log();
  for (const auto pid : rig.find(Victim::kContainer)) ::kill(pid, SIGKILL);
  client.join();
  EXPECT_GE(reply.status, 500) << reply.body;
  const auto runs = rig.get("/v1/container/runs");
  EXPECT_EQ(runs.at("/runs/0/state"), "failed") << runs.body;
  EXPECT_EQ(engine.count(), 0U);
  engine.goOnWithIt();
  EXPECT_TRUE(eventually([&]() { return engine.count() == 1; })) << "the control: it is made";
  EXPECT_TRUE(eventually([&]() { return engine.count() == 0; })) << "it stayed" << rig.log();
  EXPECT_EQ(engine.starts(), 0U);
  EXPECT_TRUE(engine.strangerStands());
  EXPECT_EQ(rig.stop(), 0) << rig.log();
}

// Who settles what the last death left dies too.
TEST(ContainerRecovery, ADeathInRecoveryIsRecoveredFrom) {
  KeepingEngine engine;
  Rig rig;
  configure(rig, engine);
  rig.start();
  ASSERT_TRUE(rig.serving()) << rig.log();
  ASSERT_EQ(run(rig, "stay", "run").status, 201);
  rig.kill();
  for (const auto& [call, when] : {KeepingEngine::Place{kInspect, When::kBefore},
                                   {kKill, When::kBefore},
                                   {kKill, When::kAfter},
                                   {kRemove, When::kBefore},
                                   {kRemove, When::kAfter}}) {
    SCOPED_TRACE(call);
    engine.stopAt({call, when});
    rig.start();
    EXPECT_TRUE(engine.stopped()) << rig.log();
    const auto all = rig.tree();
    rig.kill();
    EXPECT_TRUE(Rig::gone(all));
    engine.goOn();
  }
  rig.start();
  ASSERT_TRUE(rig.serving()) << rig.log();
  EXPECT_TRUE(eventually([&]() { return isOutcome(rig.get("/v1/container/runs").at("/runs/0/state")); }));
  EXPECT_EQ(rig.get("/v1/container/runs").at("/runs/0/state"), "failed");
  EXPECT_EQ(engine.count(), 0U);
  EXPECT_EQ(engine.starts(), 1U);
  EXPECT_TRUE(engine.strangerStands());
  EXPECT_EQ(rig.stop(), 0);
}

}  // namespace
}  // namespace factionos::test
