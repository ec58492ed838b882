// The container worker: speaks to one container engine over sockets that the launcher connected, and can make
// none.
#include <sodium.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "sandbox/enter.h"
#include "workers/common/lifetime.h"
#include "workers/common/start.h"
#include "workers/container/policy.h"
#include "workers/container/programs.h"
#include "workers/container/service.h"

namespace {

using namespace factionos;

// Serves until the broker closes the line or the launcher is gone. What runs then is found again by its
// labels.
void serve() {
  rpc::Loop loop;
  rpc::Connection connection(loop, rpc::OwnFd(worker::kLine),
                             {.role = rpc::Role::kServer, .maxFdsPerMessage = 1},
                             container::makeService(loop));
  worker::serveUntilGone(loop, connection);
}

}  // namespace

int main() {
  worker::mustBeStarted("container");
  return worker::guarded([]() {
    if (sodium_init() < 0) throw sandbox::SetupError(sandbox::Step::kIdentity, 0, "sodium");
    sandbox::useBuiltPrograms(container::kPrograms);
    const sandbox::Policy policy = container::policy();
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    serve();
  });
}
