// What the launcher connects: the sockets that it was told of before it started anything, and nothing else.
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "container_harness.h"
#include "fake_engine.h"
#include "protocol/rpc/descriptor.h"

namespace factionos::test {
namespace {

using Engine = schema::EngineKind;

std::string setEngines(Broker& broker, const std::vector<std::pair<Engine, std::string>>& engines) {
  auto request = broker.launcher.setEnginesRequest();
  auto list = request.initEngines(static_cast<unsigned>(engines.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setEngine(engines[i].first);
    list[i].setPath({engines[i].second.data(), engines[i].second.size()});
  }
  return broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); }));
}

// "connected", or the denial.
std::string connect(Broker& broker, Engine engine) {
  auto request = broker.launcher.engineRequest();
  request.setEngine(engine);
  auto got = broker.wait(request.send().then([](auto&& answer) { return kj::mv(answer); }));
  if (got.hasDenial()) return denialText(got.getDenial());
  auto made = broker.wait(
      got.getConnector().connectRequest().send().then([](auto&& answer) { return kj::mv(answer); }));
  if (made.hasDenial()) return denialText(made.getDenial());
  const rpc::OwnFd socket = broker.wait(rpc::takeDescriptor(made.getSocket()));
  return send(socket.get(), "x", 1, MSG_NOSIGNAL) == 1 ? "connected" : "not connected";
}

TEST(EngineConnector, IsOfTheEnginesThatWereSetAndOfNoOther) {
  Broker broker;
  const FakeEngine engine;
  EXPECT_EQ(setEngines(broker, {{Engine::DOCKER, engine.socketPath()}}), "");
  EXPECT_EQ(connect(broker, Engine::DOCKER), "connected");
  EXPECT_EQ(connect(broker, Engine::PODMAN), "engine_unknown/engine_sockets");
  EXPECT_EQ(connect(broker, static_cast<Engine>(9)), "engine_unknown/engine_sockets");
}

TEST(EngineConnector, PathsAreFixedOnceAnythingWasSetOrStarted) {
  const FakeEngine engine;
  const FakeEngine other;
  {
    Broker broker;
    EXPECT_EQ(setEngines(broker, {{Engine::DOCKER, engine.socketPath()}}), "");
    EXPECT_EQ(setEngines(broker, {{Engine::PODMAN, other.socketPath()}}), "engines_fixed/engine_sockets");
    EXPECT_EQ(connect(broker, Engine::PODMAN), "engine_unknown/engine_sockets");
  }
  Broker broker;
  const auto pty = broker.startPty();
  EXPECT_EQ(setEngines(broker, {{Engine::DOCKER, engine.socketPath()}}), "engines_fixed/engine_sockets");
  EXPECT_EQ(connect(broker, Engine::DOCKER), "engine_unknown/engine_sockets");
}

TEST(EngineConnector, RefusesWhatIsNoPathOfASocket) {
  Broker broker;
  for (const std::string& path :
       {std::string("relative"), std::string(), std::string("/x\0y", 4), "/" + std::string(120, 'x')})
    EXPECT_EQ(setEngines(broker, {{Engine::DOCKER, path}}), "engine_invalid/engine_sockets") << path;
  EXPECT_EQ(setEngines(broker, {{Engine::UNSPECIFIED, "/x"}}), "engine_invalid/engine_sockets");
  EXPECT_EQ(setEngines(broker, {{Engine::DOCKER, "/x"}, {Engine::DOCKER, "/y"}}),
            "engine_invalid/engine_sockets");
  const std::string file = broker.world.home + "/file";
  broker.world.write(file, "no socket");
  EXPECT_EQ(setEngines(broker, {{Engine::DOCKER, file}, {Engine::PODMAN, broker.world.home + "/absent"}}),
            "");
  EXPECT_EQ(connect(broker, Engine::DOCKER), "engine_unreachable/ENOTSOCK");
  EXPECT_EQ(connect(broker, Engine::PODMAN), "engine_unreachable/ENOENT");
}

}  // namespace
}  // namespace factionos::test
