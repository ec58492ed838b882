#include "sandbox/landlock.h"
#include "sandbox/verify/guarantee.h"

namespace factionos::sandbox::verify {

bool has(const KernelSupport& support, Feature feature) {
  const NamespaceSupport& namespaces = support.namespaces;
  const bool user = namespaces.user == 0;
  switch (feature) {
    case Feature::kNone:
    case Feature::kForeign32:
    case Feature::kGainablePrivileges:
    case Feature::kCoreFiles:
      return true;
    case Feature::kSeccomp:
      return support.seccompFilter;
    case Feature::kLandlock:
      return support.landlockAbi >= 1;
    case Feature::kLandlockTruncate:
      return support.landlockAbi >= 3;
    case Feature::kLandlockTcp:
      return support.landlockAbi >= kAbiOfPorts;
    case Feature::kLandlockScopes:
      return support.landlockAbi >= kAbiOfScopes;
    case Feature::kUserNamespace:
      return user;
    case Feature::kPidNamespace:
      return user && namespaces.pid == 0;
    case Feature::kMountNamespace:
      return user && namespaces.mount == 0;
    case Feature::kNamespaces:
      return user && namespaces.pid == 0 && namespaces.mount == 0;
    case Feature::kNetworkNamespace:
      return user && namespaces.network == 0;
    case Feature::kSupervision: {
      const bool seesCallers =
          !has(support, Feature::kPidNamespace) || has(support, Feature::kMountNamespace);
      return support.seccompNotify && seesCallers;
    }
  }
  return false;
}

Feature featureOf(Layer layer) {
  switch (layer) {
    case Layer::kSeccomp:
      return Feature::kSeccomp;
    case Layer::kLandlock:
      return Feature::kLandlock;
    case Layer::kSupervisor:
      return Feature::kSupervision;
    case Layer::kNamespaces:
      return Feature::kUserNamespace;
    case Layer::kLimits:
    case Layer::kDescriptors:
    case Layer::kIdentity:
    case Layer::kEnvironment:
      break;
  }
  return Feature::kNone;
}

Feature missing(const Guarantee& guarantee, const std::function<bool(Feature)>& has) {
  for (const Feature feature : {guarantee.profileNeeds, featureOf(guarantee.layer), guarantee.needs}) {
    if (!has(feature)) return feature;
  }
  return Feature::kNone;
}

Feature missing(const Guarantee& guarantee, const KernelSupport& support) {
  return missing(guarantee, [&support](Feature feature) { return has(support, feature); });
}

}  // namespace factionos::sandbox::verify
