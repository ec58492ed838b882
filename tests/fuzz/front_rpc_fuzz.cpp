// What a front that was taken over may say to the broker: Gate, and Api as a principal with every scope.
#include "broker/api/api_service.h"
#include "tests/fuzz/broker_core.h"
#include "tests/fuzz/rpc_peer.h"

namespace {

using namespace factionos;

fuzz::Peer::Plan planFor(const fuzz::BrokerCore& broker, const fuzz::Story& story) {
  return {.interfaces = {capnp::Schema::from<schema::Api>(), capnp::Schema::from<schema::Gate>()},
          .texts = {"", "demo", "true", "AAAA"},
          .named = {{"workspace", {"demo"}},
                    {"profile", {"default"}},
                    {"shell", {"true"}},
                    {"command", {"true"}},
                    {"idempotencyKey", {"k0", "k1", "k2"}},
                    {"id", {story.session, story.waiting, story.approved}},
                    {"after", {story.waiting}},
                    {"actionId", {story.approved, story.waiting}},
                    {"proof", {story.approval, story.rejection}},
                    {"reason", {"ok"}},
                    {"token", {broker.token}},
                    {"data", {"x\n"}}},
          .numbers = {{"expectedRevision", {1, 2}}}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  fuzz::loop();
  const rpc::QuietKj quiet;
  fuzz::BrokerCore broker;
  const auto story = fuzz::tell(broker);
  auto plan = planFor(broker, story);
  fuzz::run(plan, data + 1, size - 1, broker::optionsOf(broker::linkOf(broker::Peer::kFront)),
            [&]() -> capnp::Capability::Client {
              if (data[0] % 4 == 0)
                return broker.front.emplace(broker.services, broker.workers, broker.listeners).gate();
              return kj::heap<broker::ApiService>(broker.services, fuzz::requestTable(),
                                                  broker.caller(broker.token));
            });
  return 0;
}
