// What the engine can, in labels and booleans: nothing that it said is passed on but names that were looked
// for.
#pragma once

#include <string>

#include <kj/async.h>

#include "protocol/schemas/container.capnp.h"
#include "workers/container/engine.h"

namespace factionos::container {

// Each part by itself and within its own time; `out` outlives the promise, which does not fail.
kj::Promise<void> probe(Engine& engine, std::string image, std::string instance,
                        schema::EngineProbe::Builder out);

}  // namespace factionos::container
