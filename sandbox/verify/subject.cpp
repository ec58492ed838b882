#include "sandbox/verify/subject.h"

#include <cerrno>

namespace factionos::sandbox::verify {
namespace {

static_assert(kSentinel == ENOMEDIUM);

void useSentinel(Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::kErrno) verdict = Verdict::fail(kSentinel);
}

}  // namespace

Policy only(Layer layer, Policy policy) {
  if (layer == Layer::kSeccomp) {
    useSentinel(policy.seccomp.unlisted);
    useSentinel(policy.seccomp.foreignEntry);
    for (SeccompRule& rule : policy.seccomp.rules) useSentinel(rule.verdict);
  } else if (layer == Layer::kSupervisor) {
    policy.seccomp.rules.clear();  // what the supervisor hears of is added to them
  } else {
    policy.seccomp = {};
    policy.seccomp.scope = SeccompScope::kNone;
    policy.traps = Traps::kNone;
  }
  if (layer != Layer::kLandlock) {
    policy.files = {};
    policy.files.scope = FileScope::kUnrestricted;
    policy.tcp = {};
    policy.scopes = {Need::kOff, Need::kOff};
  }
  if (layer != Layer::kNamespaces && layer != Layer::kLandlock) policy.mounts.clear();
  if (layer != Layer::kLimits) policy.limits.clear();
  policy.memoryExecution = MemoryExecution::kUnrestricted;
  return policy;
}

}  // namespace factionos::sandbox::verify
