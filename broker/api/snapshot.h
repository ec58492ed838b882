#pragma once

#include "broker/api/services.h"

namespace factionos::broker {

// What the front serves reads from. Labels, codes, counts and times of the state, nothing that a principal
// without the scope `read` may see.
void fillSnapshot(Services& services, std::uint64_t revision, schema::Snapshot::Builder snapshot);
void fillDiagnostics(Services& services, schema::Diagnostics::Builder diagnostics);

// Rows of the command center: the newest so many of each kind.
inline constexpr std::size_t kCommandCenterRows = 100;

}  // namespace factionos::broker
