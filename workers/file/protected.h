// What the file family never writes: files that others execute, or read as their settings, and our own
// copies.
#pragma once

#include <string_view>

namespace factionos::file {

// Where the copies lie that are made before a change, at the top of the workspace.
inline constexpr std::string_view kOwnFolder = ".factionos";

// Whether `path` (plain, no symbolic link on it) may not be written, made or removed. A name of the session's
// list counts at every depth, and whatever git's own configuration names as hooks or includes; below .git it
// is everything: that is the git family's; and what would have git take the workspace itself for a
// repository. What these names lead to over symbolic links counts as they do.
bool isProtected(int workspace, std::string_view path);

// Whether `path` lies in our own folder, which is nobody's to read either.
bool isOwn(std::string_view path);

}  // namespace factionos::file
