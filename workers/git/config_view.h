// What a repository's configuration may tell: an allowlist of keys that are data, and the rules that refuse a
// repository by its configuration. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workers/git/config_text.h"
#include "workers/git/refusal.h"

namespace factionos::git {

// A linked working tree takes neither core.bare nor core.worktree from the configuration that it shares.
enum class Kind { kMain, kLinked };

struct ConfigView {
  std::vector<ConfigEntry> entries;     // those of the allowlist, and our own
  bool worktreeConfig = false;          // config.worktree is read too
  bool bare = false;                    // core.bare: of a linked tree, whether the main one is none
  std::optional<std::string> worktree;  // core.worktree, the last one
  std::string logs = "true";            // core.logAllRefUpdates, or "always", or "false"
};

// Throws Refusal: a format, an extension or a kind of repository that is not worked in. Never names a value.
ConfigView viewOf(const std::vector<ConfigEntry>& entries, Kind kind);

// Whether a key is passed on to libgit2: none of those has a program, a path or a transport as its value
// (remote.*.url is compared with the allowed roots and given to no transport).
bool isInert(std::string_view key);

}  // namespace factionos::git
