#include <algorithm>
#include <cerrno>

#include "broker/api/services.h"

namespace factionos::broker {
namespace {

using redaction::Literal;
using sandbox::verify::Feature;

constexpr std::size_t kMostReasons = 16;

Literal reasonFor(Feature feature) {
  switch (feature) {
    case Feature::kSeccomp:
      return "seccomp_missing";
    case Feature::kLandlock:
      return "landlock_missing";
    case Feature::kLandlockTruncate:
      return "landlock_truncate_missing";
    case Feature::kLandlockTcp:
      return "landlock_tcp_missing";
    case Feature::kLandlockScopes:
      return "landlock_scopes_missing";
    case Feature::kUserNamespace:
      return "user_namespace_missing";
    case Feature::kPidNamespace:
      return "pid_namespace_missing";
    case Feature::kMountNamespace:
      return "mount_namespace_missing";
    case Feature::kNamespaces:
      return "namespaces_missing";
    case Feature::kNetworkNamespace:
      return "network_namespace_missing";
    case Feature::kSupervision:
      return "supervision_missing";
    case Feature::kNone:
    case Feature::kForeign32:
    case Feature::kGainablePrivileges:
    case Feature::kCoreFiles:
      break;
  }
  return "sandbox_incomplete";
}

// Of namespaces the launcher tells more: the errno of each kind.
bool isToldByErrno(Feature feature) {
  switch (feature) {
    case Feature::kUserNamespace:
    case Feature::kPidNamespace:
    case Feature::kMountNamespace:
    case Feature::kNamespaces:
    case Feature::kNetworkNamespace:
      return true;
    default:
      return false;
  }
}

sandbox::KernelSupport kernelOf(schema::KernelSupport::Reader support) {
  const auto error = [](bool works) { return works ? 0 : EPERM; };
  sandbox::KernelSupport kernel;
  kernel.landlockAbi = static_cast<int>(std::min<std::uint32_t>(support.getLandlockAbi(), 1000));
  kernel.seccompFilter = support.getSeccomp();
  kernel.seccompNotify = support.getUserNotification();
  kernel.namespaces.user = error(support.getUserNamespaces());
  kernel.namespaces.pid = error(support.getPidNamespace());
  kernel.namespaces.mount = error(support.getMountNamespace());
  kernel.namespaces.network = error(support.getNetworkNamespace());
  kernel.pty = error(support.getPty());
  return kernel;
}

void addOnce(std::vector<audit::Label>& reasons, std::string_view text) {
  auto label = audit::Label::parse(text);
  if (!label || reasons.size() >= kMostReasons) return;
  const bool there = std::ranges::any_of(
      reasons, [&](const audit::Label& reason) { return reason.text() == label->text(); });
  if (!there) reasons.push_back(std::move(*label));
}

}  // namespace

Readiness Readiness::from(schema::KernelSupport::Reader support) {
  Readiness readiness;
  readiness.kernel = kernelOf(support);
  readiness.posture = walls::postureOf(readiness.kernel);
  for (const auto reason : support.getReasons()) addOnce(readiness.reasons, {reason.begin(), reason.size()});
  for (const auto* features : {&readiness.posture.lacking, &readiness.posture.without}) {
    for (const Feature feature : *features) {
      if (!isToldByErrno(feature)) addOnce(readiness.reasons, reasonFor(feature).text());
    }
  }
  return readiness;
}

redaction::Literal Readiness::whyNoSandbox() const {
  return posture.holds() ? Literal() : reasonFor(posture.lacking.front());
}

}  // namespace factionos::broker
