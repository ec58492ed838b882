// The repositories of one repository: itself, its submodules at any depth, its linked work trees.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace factionos::session {

// Directories in which git looks for configuration, relative to `workspace` (O_PATH, borrowed): `git` and
// what lies below its "modules" and "worktrees". Names of submodules may have slashes. Nothing if there are
// more than `most` directories to look at.
std::optional<std::vector<std::string>> gitDirectories(int workspace, const std::string& git,
                                                       std::size_t most);

}  // namespace factionos::session
