// The view as libgit2 sees it: a backend of entries in memory. No file is behind it, and nothing can be
// written to it.
#pragma once

#include <vector>

#include <git2/types.h>

#include "workers/git/config_text.h"
#include "workers/git/handles.h"

namespace factionos::git {

// Throws Refusal.
Config makeConfig(std::vector<ConfigEntry> entries);

}  // namespace factionos::git
