#include "sandbox/verify/guarantee.h"

namespace factionos::sandbox::verify {

std::string_view label(Layer layer) {
  switch (layer) {
    case Layer::kSeccomp:
      return "seccomp";
    case Layer::kLandlock:
      return "landlock";
    case Layer::kSupervisor:
      return "supervisor";
    case Layer::kNamespaces:
      return "namespaces";
    case Layer::kLimits:
      return "limits";
    case Layer::kDescriptors:
      return "descriptors";
    case Layer::kIdentity:
      return "identity";
    case Layer::kEnvironment:
      return "environment";
  }
  return "unknown";
}

std::string_view label(Feature feature) {
  switch (feature) {
    case Feature::kNone:
      return "nothing";
    case Feature::kSeccomp:
      return "seccomp filters";
    case Feature::kLandlock:
      return "Landlock";
    case Feature::kLandlockTruncate:
      return "Landlock ABI 3 (truncate)";
    case Feature::kLandlockTcp:
      return "Landlock ABI 4 (TCP)";
    case Feature::kLandlockScopes:
      return "Landlock ABI 6 (scopes)";
    case Feature::kUserNamespace:
      return "user namespaces";
    case Feature::kPidNamespace:
      return "user and pid namespaces";
    case Feature::kMountNamespace:
      return "user and mount namespaces";
    case Feature::kNamespaces:
      return "user, pid and mount namespaces";
    case Feature::kNetworkNamespace:
      return "user and network namespaces";
    case Feature::kSupervision:
      return "a listener for system calls that sees who calls";
    case Feature::kForeign32:
      return "a 32-bit system call entry";
    case Feature::kGainablePrivileges:
      return "a caller without no_new_privs";
    case Feature::kCoreFiles:
      return "a caller that may leave core files";
  }
  return "unknown";
}

}  // namespace factionos::sandbox::verify
