#include "sandbox/setup_error.h"

#include <cerrno>

namespace factionos::sandbox {

std::string_view label(Step step) {
  switch (step) {
    case Step::kIdentity:
      return "identity";
    case Step::kDescriptors:
      return "descriptors";
    case Step::kLimits:
      return "limits";
    case Step::kUserNamespace:
      return "user_namespace";
    case Step::kNamespaces:
      return "namespaces";
    case Step::kMounts:
      return "mounts";
    case Step::kCapabilities:
      return "capabilities";
    case Step::kNoNewPrivileges:
      return "no_new_privs";
    case Step::kDumpable:
      return "dumpable";
    case Step::kLandlock:
      return "landlock";
    case Step::kSeccomp:
      return "seccomp";
    case Step::kSelfCheck:
      return "self_check";
    case Step::kTree:
      return "tree";
    case Step::kProbe:
      return "probe";
  }
  return "unknown";
}

void failWithErrno(Step step, const char* reason) {
  throw SetupError(step, errno, reason);
}

}  // namespace factionos::sandbox
