#include "workers/session/supervision.h"

#include <cerrno>

#include "sandbox/families.h"
#include "workers/session/command_calls.h"

namespace factionos::session {

namespace families = sandbox::families;

Supervision supervisionOf(Network network, const sandbox::NamespacePosture& namespaces, int landlockAbi) {
  return {.sockets = mayUseUnixSockets(namespaces, landlockAbi),
          .hidden = namespaces.mount,
          .ports = network == Network::kFull,
          .unheardOpens = {}};
}

sandbox::SeccompPolicy supervised(sandbox::SeccompPolicy calls, const Supervision& supervision) {
  using sandbox::notify;
  using sandbox::Verdict;
  for (sandbox::SeccompRule& rule : calls.rules) {
    const bool attempt = rule.verdict == Verdict::fail(EPERM) || rule.verdict == Verdict::fail(EACCES);
    if (attempt) rule.verdict = Verdict::notify();
  }
  calls.rules.push_back(notify(families::makingNames(), "carried out by the gofer: protected names"));
  calls.rules.push_back(notify(families::creationMask(), "the gofer makes files with the caller's"));
  calls.rules.push_back(
      notify(families::openingToRead(),
             "goes on; what a rule of ours denies is counted. Not of what the C library opens for itself"));
  calls.rules.push_back(notify(families::executing(), "the same"));
  calls.rules.push_back(notify(families::openingToWrite(), "the same: a mount goes with what it lies on"));
  calls.rules.push_back(notify(families::removingNames(), "the same"));
  if (supervision.sockets)
    calls.rules.push_back(notify(families::binding(), "a socket's file is a name, too"));
  if (supervision.sockets || supervision.ports)
    calls.rules.push_back(notify(families::connecting(), "goes on; what is kept from it is counted"));
  calls.unheardOpens = supervision.unheardOpens;
  if (supervision.hidden) calls.rules.push_back(notify(families::changingDirectory(), "the same"));
  return calls;
}

}  // namespace factionos::session
