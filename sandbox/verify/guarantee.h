// What a profile promises, as data. Who has which profiles says elsewhere; nothing here names a role.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "sandbox/support.h"

namespace factionos::sandbox::verify {

// What carries a guarantee. Each is judged alone as well: a guarantee of one layer that another happens to
// keep is not enforced.
enum class Layer {
  kSeccomp,
  kLandlock,
  kSupervisor,   // a process that a filter asks, and that answers in the kernel's stead
  kNamespaces,   // user, pid, mount, network; and the mounts made in them
  kLimits,       // rlimits
  kDescriptors,  // closed at entry
  kIdentity,     // no_new_privs, capabilities, not dumpable
  kEnvironment,  // built from an allowlist
};
std::string_view label(Layer layer);

// What a kernel, or a machine, may lack.
enum class Feature {
  kNone,
  kSeccomp,             // filters, with the verdicts that profiles use
  kLandlock,            // ABI 1
  kLandlockTruncate,    // ABI 3
  kLandlockTcp,         // ABI 4
  kLandlockScopes,      // ABI 6
  kUserNamespace,       // for an ordinary user, as all of these
  kPidNamespace,        // and user
  kMountNamespace,      // and user
  kNamespaces,          // user, pid and mount
  kNetworkNamespace,    // and user
  kSupervision,         // user notification, and where there is a pid namespace a /proc that shows who calls
  kForeign32,           // the 32-bit entry of x86-64
  kGainablePrivileges,  // the caller itself is without no_new_privs
  kCoreFiles,           // the caller's own hard limit lets it leave core files
};
std::string_view label(Feature feature);
// Of the kernel's features; what is the caller's alone is always there.
bool has(const KernelSupport& support, Feature feature);
// Without which the layer itself is not there; kNone if every kernel has it.
Feature featureOf(Layer layer);

enum class Strength {
  kRequired,  // has to hold on every kernel that FactionOS runs on
  kOptional,  // has to hold where the kernel has the feature; where it has not, posture says so
};

struct Guarantee {
  std::string_view id;  // unique within its profile: "files.outside"
  std::string_view profile;
  std::string_view promise;  // one sentence of what can't be done
  Layer layer;
  Strength strength;
  Feature needs;                                // what carries it
  Feature profileNeeds;                         // without which there is no such profile
  std::span<const std::string_view> forbidden;  // acts (act.h) that must fail
  std::string_view allowed;                     // the act that must work under the same profile
};

// The first that is missing of what a guarantee rests on: its profile, its layer, and what it names itself;
// kNone if `has` has all.
Feature missing(const Guarantee& guarantee, const std::function<bool(Feature)>& has);
// The same on a kernel of that support.
Feature missing(const Guarantee& guarantee, const KernelSupport& support);

}  // namespace factionos::sandbox::verify
