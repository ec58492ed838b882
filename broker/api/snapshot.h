#pragma once

#include "broker/api/services.h"

namespace factionos::broker {

// What the front serves reads from. Labels, codes, counts and times of the state, nothing that a principal
// without the scope `read` may see.
// The front shows it in replies and in frames; it is made for the frames, whose rules are the stricter ones.
using OutgoingSnapshot = actions::Outgoing<redaction::Boundary::kWebSocketFrame, schema::Snapshot>;
void fillSnapshot(Services& services, std::uint64_t revision, OutgoingSnapshot snapshot);

// For kWebSocketFrame and kCli.
template <redaction::Boundary B>
void fillDiagnostics(Services& services, actions::Outgoing<B, schema::Diagnostics> diagnostics);

// Rows of the command center: the newest so many of each kind.
inline constexpr std::size_t kCommandCenterRows = 100;

}  // namespace factionos::broker
