#pragma once

#include <optional>

#include <kj/async.h>
#include <kj/timer.h>

#include "broker/audit/label.h"
#include "broker/redaction/words.h"
#include "protocol/schemas/launcher.capnp.h"

namespace factionos::broker {

enum class WorkerEnd {
  kLost,        // whatever else: killed, crashed, or not told in time
  kMisbehaved,  // its own filter refused a call
};

// How a worker whose line is closed came to its end, as the launcher knows. A refused call is logged with its
// number, as far as the kernel tells it, under the worker's name. Never fails.
kj::Promise<WorkerEnd> endOf(kj::Timer& timer, schema::Worker::Client process, redaction::Literal worker,
                             std::optional<audit::Label> session = std::nullopt);

}  // namespace factionos::broker
