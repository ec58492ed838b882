#pragma once

namespace factionos::sandbox {

enum class BoundingSet { kDropped, kOutOfReach };

// Empties the ambient, effective, permitted and inheritable sets, and the bounding set if the process holds
// CAP_SETPCAP (without it nobody could use the bounding set either once no_new_privs stands). Verified by
// reading back. Throws SetupError at Step::kCapabilities.
BoundingSet dropCapabilities();

// Of the effective set.
bool hasCapability(int capability);

// Takes this one out of every set, as above.
BoundingSet dropCapability(int capability);

}  // namespace factionos::sandbox
