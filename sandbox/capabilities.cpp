#include "sandbox/capabilities.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/setup_error.h"

namespace factionos::sandbox {
namespace {

using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

Sets present() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  Sets sets{};
  checked(Step::kCapabilities, syscall(SYS_capget, &header, sets.data()), "capabilities_unreadable");
  return sets;
}

bool anySet(const Sets& sets) {
  for (const auto& set : sets) {
    if ((set.effective | set.permitted | set.inheritable) != 0) return true;
  }
  return false;
}

// The last capability is the kernel's to say: reading one beyond it gives EINVAL.
void dropBoundingSet() {
  for (int capability = 0;; ++capability) {
    const int held = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (held < 0) return;
    checked(Step::kCapabilities, prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "bounding_set_refused");
  }
}

std::size_t wordOf(int capability) {
  return static_cast<std::size_t>(capability) / 32;
}
std::uint32_t bitOf(int capability) {
  return std::uint32_t{1} << (static_cast<unsigned>(capability) % 32);
}

}  // namespace

bool hasCapability(int capability) {
  return (present().at(wordOf(capability)).effective & bitOf(capability)) != 0;
}

BoundingSet dropCapability(int capability) {
  checked(Step::kCapabilities, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, capability, 0, 0),
          "ambient_set_refused");
  const bool canDrop = hasCapability(CAP_SETPCAP);
  if (canDrop)
    checked(Step::kCapabilities, prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "bounding_set_refused");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const auto without = [capability](Sets sets) {
    auto& word = sets.at(wordOf(capability));
    word.effective &= ~bitOf(capability);
    word.permitted &= ~bitOf(capability);
    word.inheritable &= ~bitOf(capability);
    return sets;
  };
  const Sets rest = without(present());
  checked(Step::kCapabilities, syscall(SYS_capset, &header, rest.data()), "capabilities_refused");
  const Sets after = present();
  const auto& left = after.at(wordOf(capability));
  if (((left.effective | left.permitted | left.inheritable) & bitOf(capability)) != 0)
    throw SetupError(Step::kCapabilities, EPERM, "capabilities_left");
  return canDrop ? BoundingSet::kDropped : BoundingSet::kOutOfReach;
}

BoundingSet dropCapabilities() {
  checked(Step::kCapabilities, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0),
          "ambient_set_refused");
  const bool canDrop = hasCapability(CAP_SETPCAP);
  if (canDrop) dropBoundingSet();

  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const Sets none{};
  checked(Step::kCapabilities, syscall(SYS_capset, &header, none.data()), "capabilities_refused");
  if (anySet(present())) throw SetupError(Step::kCapabilities, EPERM, "capabilities_left");
  return canDrop ? BoundingSet::kDropped : BoundingSet::kOutOfReach;
}

}  // namespace factionos::sandbox
