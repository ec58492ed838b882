// A file's content where nobody else can change it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "sandbox/descriptors.h"
#include "workers/session/denied.h"

namespace factionos::session {

// Copies `file` (regular, open for reading) and gives the copy, open for reading and executable for us. It
// has no name, so that other users can't open it. It lies in `directory` if that can hold it: a program that
// looks for its parts beside itself (/proc/self/exe, $ORIGIN, sys.path[0]) then finds them; else in memory,
// sealed. Denied: "sandbox_unavailable" if neither can hold it, "file_too_large" above `limit` bytes.
std::variant<sandbox::Fd, Denied> privateCopy(int file, const std::string& directory, std::uint64_t limit);

}  // namespace factionos::session
