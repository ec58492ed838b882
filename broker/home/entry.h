#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/stat.h>

#include "broker/home/result.h"
#include "sandbox/descriptors.h"

namespace factionos::home {

// Mechanism of home.cpp: how one entry is opened and judged. Private to this library.

enum class EntryKind : std::uint8_t { kFile, kDirectory, kAny };

// Judges what `status` says of the entry that an operator knows as `shown` ("config.toml", "state/", ...):
// kind, owner (this process's effective uid), no permission for group or others.
std::optional<Problem> judgeEntry(const struct stat& status, EntryKind kind, const std::string& shown);

// Opens `name` below `directory` without following a link and judges it.
Result<sandbox::Fd> openDirectoryEntry(int directory, const std::string& name, const std::string& shown);

// The absolute path with its parent resolved, after a look at every ancestor: each must belong to root or to
// us, nobody else may be able to exchange what lies in it, and no command may be granted it (kRefused).
Result<std::string> resolveHomePath(const std::string& path);

// "cannot open config.toml: No space left on device"; the code from `error`.
Problem systemProblem(std::string_view action, std::string_view shown, int error);

}  // namespace factionos::home
