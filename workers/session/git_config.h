// What a repository's own configuration says about where programs and further configuration lie. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace factionos::session {

// Paths as they are written, quotes and escapes resolved, in order; empty values are left out.
struct GitConfig {
  std::vector<std::string> hooksPaths;  // core.hooksPath
  std::vector<std::string> includes;    // include.path, and includeIf.*.path whatever its condition
  std::vector<std::string> workTrees;   // core.worktree, which a submodule has
};

// Of the text of one configuration file, as git reads it; text that git would refuse ends somewhere.
GitConfig readGitConfig(std::string_view text);

}  // namespace factionos::session
