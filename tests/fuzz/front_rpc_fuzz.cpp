// What a front that was taken over may say to the broker: Gate, and Api as a principal with every scope.
#include "broker/api/api_service.h"
#include "tests/fuzz/broker_core.h"
#include "tests/fuzz/rpc_peer.h"

namespace {

using namespace factionos;

fuzz::Peer::Plan& plan() {
  static auto& one = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::Api>(), capnp::Schema::from<schema::Gate>()},
      .texts = {"demo", "default", "true", "sh", fuzz::brokerCore().token, "", "", "k1", "k2", "AAAA"}};
  return one;
}

// The newest action and session, so that a text may name them.
void learnIds(fuzz::BrokerCore& broker) {
  const auto newest = broker.actions.list({}, {}, 1);
  if (!newest.rows.empty()) plan().texts[5] = newest.rows.front().id;
  if (!broker.sessions.all().empty()) plan().texts[6] = broker.sessions.all().rbegin()->first;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const rpc::QuietKj quiet;
  auto& broker = fuzz::brokerCore();
  learnIds(broker);
  fuzz::run(plan(), data + 1, size - 1, broker::optionsOf(broker::linkOf(broker::Peer::kFront)),
            [&]() -> capnp::Capability::Client {
              if (data[0] % 4 == 0) return broker.front.gate();
              return kj::heap<broker::ApiService>(
                  broker.services, broker.requests,
                  broker::Caller{.principal = *broker.tokens.find(broker.token, audit::systemNow())});
            });
  return 0;
}
