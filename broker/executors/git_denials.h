#pragma once

#include "broker/actions/refusal.h"
#include "protocol/schemas/common.capnp.h"

namespace factionos::broker {

// What the caller hears of a git worker's denial. The worker is trusted with the choice of a row, not with
// its words.
actions::Refused gitDenied(schema::Denial::Reader denial);

// The worker waits for what will not come, and ends: who waits behind that is asked of another one.
bool isStuck(schema::Denial::Reader denial);

// The worker has seen that the configuration which it was started on is another one now.
bool isStale(schema::Denial::Reader denial);

}  // namespace factionos::broker
