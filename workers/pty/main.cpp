// The pty worker: pumps one PTY master between the kernel and the broker. Interprets nothing.
#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "sandbox/enter.h"
#include "workers/common/lifetime.h"
#include "workers/common/start.h"
#include "workers/pty/policy.h"
#include "workers/pty/programs.h"
#include "workers/pty/service.h"

namespace {

using namespace factionos;

// Serves until the broker closes the line or the launcher is gone.
void serve() {
  rpc::Loop loop;
  rpc::Connection connection(loop, rpc::OwnFd(worker::kLine),
                             {.role = rpc::Role::kServer, .maxFdsPerMessage = 1}, pty::makeService(loop));
  worker::serveUntilGone(loop, connection);
}

}  // namespace

int main() {
  worker::mustBeStarted("pty");
  return worker::guarded([]() {
    sandbox::useBuiltPrograms(pty::kPrograms);
    const sandbox::Policy policy = pty::policy();
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    serve();
  });
}
