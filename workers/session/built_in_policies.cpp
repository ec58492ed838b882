#include "sandbox/self_check.h"
#include "workers/session/command_policy.h"
#include "workers/session/gofer_policy.h"
#include "workers/session/keeper_policy.h"
#include "workers/session/policy.h"
#include "workers/session/programs.h"
#include "workers/session/supervision.h"

namespace factionos::session {
namespace {

constexpr int kAbis[] = {sandbox::kAbiOfScopes - 1,
                         sandbox::kAbiOfScopes};  // what a command's calls depend on

sandbox::NamespacePosture allOf(const sandbox::Namespaces& wanted) {
  const auto isWanted = [](sandbox::Need need) { return need != sandbox::Need::kOff; };
  sandbox::NamespacePosture posture;
  posture.user = isWanted(wanted.user);
  posture.pid = isWanted(wanted.pid);
  posture.mount = isWanted(wanted.mount);
  posture.network = isWanted(wanted.network);
  posture.ipc = isWanted(wanted.ipc);
  posture.uts = isWanted(wanted.uts);
  return posture;
}

// With a gofer and without.
void addCommand(std::vector<sandbox::SeccompPolicy>& policies, Network network,
                const sandbox::NamespacePosture& namespaces, int abi) {
  CommandScope scope;
  scope.network = network;
  const sandbox::Policy plain = commandPolicy(scope, namespaces, abi);
  policies.push_back(sandbox::withSelfCheck(plain));
  sandbox::Policy heard = plain;
  heard.seccomp = supervised(plain.seccomp, supervisionOf(network, namespaces, abi));
  heard.seccomp.listenerTo = 0;  // whichever it will be
  policies.push_back(sandbox::withSelfCheck(heard));
}

}  // namespace

std::vector<sandbox::SeccompPolicy> builtInPolicies() {
  std::vector<sandbox::SeccompPolicy> policies = {
      sandbox::withSelfCheck(policy({})),
      afterStartCalls(),
      sandbox::withSelfCheck(keeperPolicy({})),
      goferCalls(),
      goferLooks(),
  };
  for (const Network network : {Network::kNone, Network::kLoopback, Network::kFull}) {
    for (const Namespaces use : {Namespaces::kWherePossible, Namespaces::kForbidden}) {
      for (const int abi : kAbis) {
        addCommand(policies, network, allOf(commandNamespaces(network, use)), abi);
      }
    }
  }
  return policies;
}

}  // namespace factionos::session
