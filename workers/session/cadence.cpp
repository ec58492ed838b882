#include "workers/session/cadence.h"

#include <algorithm>

namespace factionos::session {

void Cadence::saw(const TreeUse& use) {
  const bool moved =
      use.cpuMs != last_.cpuMs || use.processes != last_.processes || use.memoryBytes > last_.memoryBytes;
  between_ = moved ? kBusy : std::min(between_ * 3 / 2, kIdle);
  last_ = use;
}

}  // namespace factionos::session
