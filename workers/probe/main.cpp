// The probe: starts one program that the launcher opened, asks it one question, and says in fixed words what
// came of it.
#include <optional>

#include <unistd.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/loop.h"
#include "sandbox/enter.h"
#include "sandbox/tree.h"
#include "workers/common/lifetime.h"
#include "workers/common/start.h"
#include "workers/probe/policy.h"
#include "workers/probe/programs.h"
#include "workers/probe/service.h"
#include "workers/session/watch.h"

namespace {

using namespace factionos;

// Serves until the broker closes the line or the launcher is gone, then leaves nothing behind.
void serve(std::optional<sandbox::ProvenScope> scope) {
  rpc::Loop loop;
  rpc::Connection connection(loop, rpc::OwnFd(worker::kLine), {.role = rpc::Role::kServer},
                             probe::makeService(loop, scope));
  worker::serveUntilGone(loop, connection);
}

}  // namespace

int main() {
  worker::mustBeStarted("probe", {}, {worker::kScope});
  return worker::guarded([]() {
    sandbox::becomeSubreaper();
    const auto launcher = sandbox::OutsideWitness::take(getppid());

    sandbox::useBuiltPrograms(probe::kPrograms);
    sandbox::Policy policy = probe::policy(worker::kScope, session::tasksOfUser());
    if (launcher) policy.keep.push_back(launcher->pidfd());
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);

    serve(launcher ? sandbox::ProvenScope::prove(*launcher) : std::nullopt);
  });
}
