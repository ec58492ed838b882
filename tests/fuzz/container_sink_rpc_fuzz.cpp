// What a container worker that was taken over may say to the broker: answers to run, started and ended, and
// the output of its container.
#include <array>

#include "broker/executors/live_run.h"
#include "tests/fuzz/broker_core.h"
#include "tests/fuzz/ended_worker.h"
#include "tests/fuzz/rpc_peer.h"

namespace {

using namespace factionos;

std::shared_ptr<broker::EngineWorker> makeWorker(rpc::OwnFd end) {
  auto line = kj::heap<rpc::Connection>(fuzz::loop(), kj::mv(end),
                                        broker::optionsOf(broker::linkOf(broker::Peer::kContainer)));
  auto containers = line->bootstrapAs<schema::Containers>();
  return std::make_shared<broker::EngineWorker>(
      broker::EngineWorker{.kind = schema::EngineKind::DOCKER,
                           .started = {kj::mv(line), kj::heap<fuzz::EndedWorker>()},
                           .containers = kj::mv(containers)});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::loop();
  const rpc::QuietKj quiet;
  // A run takes nothing of a broker that another leaves changed.
  static auto& core = *new fuzz::BrokerCore;
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::ContainerSink>(),
                     capnp::Schema::from<schema::ContainerSink>(),
                     capnp::Schema::from<schema::ContainerRun>(), capnp::Schema::from<schema::Containers>()},
      .texts = {"ended", "image_missing", "not_as_meant", "ghp_0123456789abcdefghijABCDEFGHIJ012345",
                "\x1b[2J"},
      .numbers = {{"totalBytes", {0, 4, 40, 44, 80}}, {"dropped", {0, 8}}, {"droppedBytes", {0, 8}}}};
  FuzzedDataProvider bytes(data, size);
  const bool answers = bytes.ConsumeBool();
  const bool shutsDown = bytes.ConsumeBool();
  auto pair = rpc::socketPair();
  auto run = kj::refcounted<broker::LiveRun>(core.core, core.containers.engines(), "act_0",
                                             audit::Label::of("token:all"), 60'000, 3'000, core.masks);
  fuzz::Peer peer(plan, bytes, kj::mv(pair.second));
  {
    fuzz::Ignore ignore;
    kj::TaskSet tasks(ignore);
    capnp::MallocMessageBuilder spec;
    // As RunContainer: what could not be started is watched, too.
    tasks.add(run->start(makeWorker(kj::mv(pair.first)), spec.initRoot<schema::ContainerSpec>().asReader())
                  .then([&run](std::optional<actions::Refused>&&) { return run->watch().ignoreResult(); }));
    if (answers) {
      peer.give(0, nullptr);
      const std::array<capnp::StructSchema, 1> ran{capnp::Schema::from<schema::Containers::RunResults>()};
      peer.give(1, kj::arrayPtr(ran.data(), ran.size()));
    }
    peer.speak();
    run->kill("killed");
    if (shutsDown) run->abandon();
    peer.speak();
    capnp::MallocMessageBuilder message;
    using Shown = broker::LiveRun::Shown;
    run->fillOutput(-1, Shown(message.initRoot<schema::Output>()));
  }
  run->abandon();
  run = nullptr;
  fuzz::loop().waitScope().poll();
  return 0;
}
