// The paths of a working tree of which names and times alone don't say that nothing has changed. Most files
// of most trees are none: one look at each, as git's own, instead of libgit2's walk with its rules for each
// directory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <git2.h>

#include "workers/git/repository.h"

namespace factionos::git {

// What of names that are not tracked, and that no rule ignores. kEndTheLook: this look can't tell then.
enum class NewNames { kLeftOut, kSuspects, kEndTheLook };

// Literal paths, of files or of directories, that a closer look has to judge: whatever is not among them is
// tracked and unchanged. Nothing: this look can't tell, look at everything.
// `index`: as it is on disk, or changed since by who asks.
std::optional<std::vector<std::string>> suspectsIn(git_repository* repository, git_index* index, int workTree,
                                                   NewNames names, Patience& patience);

}  // namespace factionos::git
