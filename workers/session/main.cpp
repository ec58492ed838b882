// The session supervisor: one process for one command. Trusted code; reads typed messages from the launcher
// and reports of its own keeper, and nothing that the command says.
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include <sodium.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "protocol/rpc/connection.h"
#include "protocol/rpc/deadline.h"
#include "protocol/rpc/loop.h"
#include "sandbox/enter.h"
#include "sandbox/library_opens.h"
#include "sandbox/tree.h"
#include "workers/common/audited_denial.h"
#include "workers/common/namespace_support.h"
#include "workers/common/start.h"
#include "workers/session/policy.h"
#include "workers/session/programs.h"
#include "workers/session/service.h"

namespace {

using namespace factionos;

constexpr auto kEndDeadline = 30 * kj::SECONDS;

// Serves until the launcher closes the line, then leaves nothing behind.
void serve(session::Service::Found found, const session::LastResort& lastResort) {
  rpc::Loop loop;
  session::Service service(loop, std::move(found), lastResort);
  rpc::Connection connection(loop, rpc::OwnFd(worker::kLine),
                             {.role = rpc::Role::kServer, .maxFdsPerMessage = 1}, service.capability());
  connection.onDisconnect().wait(loop.waitScope());
  rpc::withDeadline(loop.timer(), kEndDeadline, service.end()).wait(loop.waitScope());
}

// From the launcher, which has asked once; or asked here.
sandbox::NamespaceSupport namespaceSupport(int argumentCount, char** arguments) {
  std::optional<sandbox::NamespaceSupport> told;
  if (argumentCount >= 3 && arguments[1] == worker::kNamespacesOption)
    told = worker::parseNamespaceSupport(arguments[2]);
  return told ? *told : sandbox::probeNamespaces();
}

bool isAudited(int argumentCount, char** arguments) {
  return argumentCount == 4 && arguments[3] == worker::kAuditedOption;
}

}  // namespace

int main(int argumentCount, char** arguments) {
  worker::mustBeStarted("session");
  return worker::guarded([argumentCount, arguments]() {
    session::Service::Found found{namespaceSupport(argumentCount, arguments), sandbox::libraryOpens()};
    if (isAudited(argumentCount, arguments)) found.audited.reset(worker::kScope);
    // A broken lease of a hashed file announces itself by SIGIO, which would end us.
    signal(SIGIO, SIG_IGN);
    sandbox::becomeSubreaper();
    if (sodium_init() < 0) throw sandbox::SetupError(sandbox::Step::kIdentity, 0, "sodium_unusable");
    auto launcher = sandbox::OutsideWitness::take(getppid());

    sandbox::useBuiltPrograms(session::kPrograms);
    sandbox::Policy policy = session::policy(found.support);
    if (found.audited) policy.keep.push_back(found.audited.get());
    if (launcher) policy.keep.push_back(launcher->pidfd());
    const sandbox::Posture posture = sandbox::enter(policy);
    worker::selfCheck(policy, posture);

    const auto scope = launcher ? sandbox::ProvenScope::prove(*launcher) : std::nullopt;
    launcher.reset();
    // Where the kernel scopes signals, a tree that forks faster than it is walked must end all the same.
    if (posture.landlock.signalsScoped && !scope)
      throw sandbox::SetupError(sandbox::Step::kTree, EPERM, "scope_not_proven");
    serve(std::move(found), session::LastResort(scope));
  });
}
