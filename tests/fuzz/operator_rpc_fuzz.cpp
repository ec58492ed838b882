// What comes in on the operator's socket: before the key is proven, and after.
#include "broker/api/operator_service.h"
#include "tests/fuzz/broker_core.h"
#include "tests/fuzz/rpc_peer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace factionos;
  if (size == 0) return 0;
  const rpc::QuietKj quiet;
  auto& broker = fuzz::brokerCore();
  static auto& plan = *new fuzz::Peer::Plan{
      .interfaces = {capnp::Schema::from<schema::Operator>(), capnp::Schema::from<schema::OperatorGate>()},
      .texts = {"demo", "terminal", "run", "all", "sh", "*", "t1", "/usr/bin/make"}};
  fuzz::run(plan, data + 1, size - 1, broker::optionsOf(broker::linkOf(broker::Peer::kOperator)),
            [&]() -> capnp::Capability::Client {
              if (data[0] % 4 == 0) return kj::heap<broker::OperatorGateService>(broker.services, []() {});
              return broker::makeOperator(broker.services);
            });
  return 0;
}
