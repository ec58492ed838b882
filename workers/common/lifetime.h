// When a worker has no reason to live any more.
#pragma once

#include <kj/async.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"

namespace factionos::worker {

// Resolves when the reader of the event pipe, which is the launcher, is gone: a worker whose own line leads
// to the broker would outlive a launcher that was killed. Needs no call beyond those of the loop. `loop`
// outlives the promise.
kj::Promise<void> whenLauncherGone(rpc::Loop& loop);

// Waits until the peer has closed `connection`, or whenLauncherGone().
void serveUntilGone(rpc::Loop& loop, rpc::Connection& connection);

}  // namespace factionos::worker
