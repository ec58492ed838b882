// The repositories of one repository: itself, its submodules at any depth, its linked work trees.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace factionos::session {

// Of a repository: what configures it, and where the repositories of its submodules and linked work trees
// lie.
inline constexpr std::array<std::string_view, 4> kGitSettings = {"config", "config.worktree", "commondir",
                                                                 "hooks"};
inline constexpr std::array<std::string_view, 2> kGitAreas = {"modules", "worktrees"};

// Directories in which git looks for configuration, relative to `workspace` (O_PATH, borrowed): `git` and
// what lies below its "modules" and "worktrees". Names of submodules may have slashes. Nothing if there are
// more than `most` directories to look at.
std::optional<std::vector<std::string>> gitDirectories(int workspace, const std::string& git,
                                                       std::size_t most);

}  // namespace factionos::session
