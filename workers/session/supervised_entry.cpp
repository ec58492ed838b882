#include "workers/session/supervised_entry.h"

#include <csignal>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/enter.h"
#include "sandbox/landlock.h"
#include "sandbox/notify.h"
#include "workers/session/gofer.h"

namespace factionos::session {
namespace {

using sandbox::checked;
using sandbox::Step;

void endWithChild(int) {
  _exit(0);
}

[[noreturn]] void waitForTheEnd() {
  while (true) pause();
}

}  // namespace

void enterSupervised(const sandbox::Policy& policy, const CommandScope& scope, const ProtectedPaths& paths,
                     const sandbox::NamespacePosture& namespaces) {
  int pair[2];
  checked(Step::kDescriptors, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "socketpair_refused");
  sandbox::Fd ours(pair[0]);
  sandbox::Fd theirs(pair[1]);
  DenialTable denials;
  sandbox::Policy around = policy;
  around.seccomp.scope = sandbox::SeccompScope::kNone;
  around.keep.insert(around.keep.end(), {ours.get(), theirs.get(), denials.event()});
  sandbox::enterInside(around, namespaces);
  std::signal(SIGCHLD, endWithChild);
  const pid_t child = checked(Step::kIdentity, fork(), "fork_refused");
  if (child == 0) {
    std::signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    const bool filters = policy.seccomp.scope == sandbox::SeccompScope::kFiltered;
    enterFilter(policy, supervisionOf(scope.network, namespaces, sandbox::landlockAbi()),
                filters ? theirs.get() : -1);
    // As whatever it would have executed.
    checked(Step::kDumpable, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable_refused");
    return;
  }
  theirs.reset();
  sandbox::Fd listener = sandbox::receiveListener(ours.get());
  ours.reset();
  if (!listener) waitForTheEnd();
  Command command;
  command.scope = scope;
  GoferPlan plan;
  plan.command = &command;
  plan.namespaces = namespaces;
  plan.paths = paths;
  plan.denials = &denials;
  serveCalls(plan, std::move(listener), child);
}

}  // namespace factionos::session
