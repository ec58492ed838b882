// What stands beside a worker's own interface where what it says to the broker is fuzzed.
#pragma once

#include <kj/async.h>

#include "protocol/schemas/launcher.capnp.h"

namespace factionos::fuzz {

// The launcher's handle of a worker that has ended well.
class EndedWorker final : public schema::Worker::Server {
  kj::Promise<void> kill(KillContext) override { return kj::READY_NOW; }
  kj::Promise<void> exited(ExitedContext context) override {
    context.getResults().initExit().setCode(0);
    return kj::READY_NOW;
  }
};

// What becomes of a call is nobody's concern, as long as nothing crashes.
struct Ignore final : public kj::TaskSet::ErrorHandler {
  void taskFailed(kj::Exception&&) override {}
};

}  // namespace factionos::fuzz
