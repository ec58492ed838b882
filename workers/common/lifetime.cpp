#include "workers/common/lifetime.h"

#include "workers/common/start.h"

namespace factionos::worker {

// The write end of a pipe is never readable: what ends this wait is the error that it reports once nobody can
// read it.
kj::Promise<void> whenLauncherGone(rpc::Loop& loop) {
  return loop.waitReadable(kEvents);
}

void serveUntilGone(rpc::Loop& loop, rpc::Connection& connection) {
  connection.onDisconnect().ignoreResult().exclusiveJoin(whenLauncherGone(loop)).wait(loop.waitScope());
}

}  // namespace factionos::worker
