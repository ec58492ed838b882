#pragma once

namespace factionos::sandbox {

// How much a policy wants a layer that a kernel may lack.
enum class Need {
  kOff,          // not asked for
  kIfAvailable,  // taken where a probe shows that it works; else the posture says why not
  kRequired,     // its absence is a SetupError
};

}  // namespace factionos::sandbox
