// The Container interface of container.capnp.
#pragma once

#include "protocol/rpc/loop.h"
#include "protocol/schemas/container.capnp.h"

namespace factionos::container {

// `loop` outlives the capability.
schema::Container::Client makeService(rpc::Loop& loop);

}  // namespace factionos::container
