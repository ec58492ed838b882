// What comes in on the operator's socket: before the key is proven, and after.
#include "broker/api/operator_service.h"
#include "tests/fuzz/broker_core.h"
#include "tests/fuzz/rpc_peer.h"

namespace {

using namespace factionos;

fuzz::Peer::Plan planFor(const fuzz::Story& story) {
  constexpr std::uint64_t kSomeYear = 4'000'000'000'000;  // ms: in 2096
  return {
      .interfaces = {capnp::Schema::from<schema::Operator>(), capnp::Schema::from<schema::OperatorGate>()},
      .texts = {"", "demo", "*"},
      .named = {{"id", {story.waiting, story.approved, story.session}},
                {"proof", {story.approval, story.rejection}},
                {"reason", {"ok"}},
                {"operation", {"run", "*"}},
                {"workspace", {"demo", "*"}},
                {"principal", {"token:all", "*"}},
                {"program", {"/usr/bin/make", "sh", "workspace", "*"}},
                {"name", {"t1", "all"}}},
      .numbers = {{"expectedRevision", {1, 2}}, {"until", {kSomeYear}}}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  fuzz::loop();
  const rpc::QuietKj quiet;
  fuzz::BrokerCore broker;
  auto plan = planFor(fuzz::tell(broker));
  fuzz::run(plan, data + 1, size - 1, broker::optionsOf(broker::linkOf(broker::Peer::kOperator)),
            [&]() -> capnp::Capability::Client {
              if (data[0] % 4 == 0) return kj::heap<broker::OperatorGateService>(broker.services, []() {});
              return broker::makeOperator(broker.services);
            });
  return 0;
}
