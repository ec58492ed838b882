#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "broker/audit/audit_log.h"
#include "broker/audit/line.h"

namespace factionos::audit {

// Lines with a sequence number above `after`, oldest first, at most `limit` (1 to 1000). Only lines that a
// signature covers; signatures are not checked (verify() does). Throws AuditUnavailable if the log can't be
// read or holds a line that the format does not know.
std::vector<Line> list(const AuditPaths& paths, std::uint64_t after, std::size_t limit);

// One JSON object a line, fields in a fixed order, written to `out`; returns how many. Same reach and errors
// as list().
std::uint64_t exportTo(const AuditPaths& paths, std::ostream& out);

}  // namespace factionos::audit
