#include "broker/api/request_table.h"

namespace factionos::broker {
namespace {

// Long polls of a dashboard with a view open for each session, and room to spare.
constexpr std::uint32_t kReadsInFlight = 512;
constexpr std::uint32_t kMutationsInFlight = 256;

identity::Scope scopeOf(schema::Scope scope) {
  switch (scope) {
    case schema::Scope::INGEST:
      return identity::Scope::kIngest;
    case schema::Scope::READ:
      return identity::Scope::kRead;
    case schema::Scope::PROPOSE:
      return identity::Scope::kPropose;
    case schema::Scope::APPROVE:
      return identity::Scope::kApprove;
    default:
      return identity::Scope::kAdmin;
  }
}

}  // namespace

RequestTable::RequestTable() {
  for (const auto& route : routes_.routes()) {
    const auto ordinal = route.rpc.getOrdinal();
    if (rows_.size() <= ordinal) rows_.resize(ordinal + 1U);
    rows_[ordinal] = {
        .name = route.rpc.getProto().getName().cStr(),
        .scope = scopeOf(route.scope),
        .effect = route.effect,
        .byFront = !route.snapshot.empty(),
        .inFlight = route.effect == json::Effect::kMutating ? kMutationsInFlight : kReadsInFlight,
        .params = route.rpc.getParamType(),
        .request = &shapes_.of(route.request),
        .results = route.result};
  }
}

const RequestRow* RequestTable::find(std::uint16_t method) const {
  if (method >= rows_.size() || rows_[method].name.empty()) return nullptr;
  return &rows_[method];
}

}  // namespace factionos::broker
