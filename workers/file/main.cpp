// The file worker: reads and changes the files of one workspace for the broker. Interprets no content.
#include <sodium.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "sandbox/enter.h"
#include "workers/common/lifetime.h"
#include "workers/common/start.h"
#include "workers/file/policy.h"
#include "workers/file/programs.h"
#include "workers/file/service.h"

namespace {

using namespace factionos;

// Serves until the broker closes the line or the launcher is gone.
void serve() {
  rpc::Loop loop;
  rpc::Connection connection(loop, rpc::OwnFd(worker::kLine),
                             {.role = rpc::Role::kServer, .maxFdsPerMessage = 0},
                             file::makeService(worker::kScope));
  worker::serveUntilGone(loop, connection);
}

}  // namespace

int main() {
  worker::mustBeStarted("file", {worker::kScope});
  return worker::guarded([]() {
    if (sodium_init() < 0) throw sandbox::SetupError(sandbox::Step::kIdentity, 0, "sodium_unusable");
    sandbox::useBuiltPrograms(file::kPrograms);
    const sandbox::Policy policy = file::policy(worker::kScope);
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);
    serve();
  });
}
