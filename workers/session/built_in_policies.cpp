#include "sandbox/self_check.h"
#include "workers/session/command_policy.h"
#include "workers/session/keeper_policy.h"
#include "workers/session/policy.h"
#include "workers/session/programs.h"

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

}  // namespace

std::vector<sandbox::SeccompPolicy> builtInPolicies() {
  std::vector<sandbox::SeccompPolicy> policies = {
      sandbox::withSelfCheck(policy({})),
      afterStartCalls(),
      sandbox::withSelfCheck(keeperPolicy({})),
  };
  for (const Network network : {Network::kNone, Network::kLoopback, Network::kFull}) {
    for (const Namespaces use : {Namespaces::kWherePossible, Namespaces::kForbidden}) {
      for (const int abi : kAbis) {
        CommandScope scope;
        scope.network = network;
        policies.push_back(
            sandbox::withSelfCheck(commandPolicy(scope, allOf(commandNamespaces(network, use)), abi)));
      }
    }
  }
  return policies;
}

}  // namespace factionos::session
