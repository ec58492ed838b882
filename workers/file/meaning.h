// What a path means to whoever follows its links.
#pragma once

#include <string>
#include <string_view>

namespace factionos::file {

// The workspace's own path as the kernel knows it; empty if it does not tell.
std::string rootOf(int workspace);

// The place beneath the workspace that `path` (relative to it) leads to, as a path without links: they are
// followed as far as there is something, and the rest is as it is written, for what has yet to come. An
// absolute link counts as long as it names `root`. Empty for the workspace itself and for what lies
// elsewhere, where we can't write anyway.
std::string meaningOf(int workspace, std::string_view root, std::string_view path);

}  // namespace factionos::file
