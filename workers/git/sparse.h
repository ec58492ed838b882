// Sparse checkouts: entries of the index that are marked as left out of the working tree.
#pragma once

#include "workers/git/operations.h"

namespace factionos::git {

// Whether the repository is configured as one; a mark without that is somebody's "leave this file alone".
bool isSparseCheckout(git_repository* repository);

// As git does at each start (since 2.36): what is marked as left out and is there all the same is judged as
// any other file. In memory; an index that is written afterwards has it, as git's own.
void unmarkWhatIsThere(const Opened& opened, git_index* index);

}  // namespace factionos::git
