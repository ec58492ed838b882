// What a profile promises, as data. Who has which profiles says elsewhere; nothing here names a role.
#pragma once

#include <span>
#include <string_view>

namespace factionos::sandbox::verify {

// What carries a guarantee. Each is judged alone as well: a guarantee of one layer that another happens to
// keep is not enforced.
enum class Layer {
  kSeccomp,
  kLandlock,
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
  kLandlock,          // ABI 1
  kLandlockTruncate,  // ABI 3
  kLandlockTcp,       // ABI 4
  kLandlockScopes,    // ABI 6
  kNamespaces,        // user, pid and mount, for an ordinary user
  kNetworkNamespace,
  kForeign32,           // the 32-bit entry of x86-64
  kGainablePrivileges,  // the caller itself is without no_new_privs
  kCoreFiles,           // the caller's own hard limit lets it leave core files
};
std::string_view label(Feature feature);

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

}  // namespace factionos::sandbox::verify
