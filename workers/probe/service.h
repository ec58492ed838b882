// The RuntimeProbe interface of probe.capnp.
#pragma once

#include <optional>

#include "protocol/rpc/loop.h"
#include "protocol/schemas/probe.capnp.h"
#include "sandbox/tree.h"

namespace factionos::probe {

// `loop` outlives the capability.
schema::RuntimeProbe::Client makeService(rpc::Loop& loop, std::optional<sandbox::ProvenScope> scope);

}  // namespace factionos::probe
