// Loose objects, read by us. libgit2 (up to 1.8 at least) inflates one that was cut short without an end, and
// opens one that is a FIFO and waits: whoever can write to a repository could keep its worker busy.
#pragma once

#include <string>
#include <vector>

#include "workers/git/handles.h"

namespace factionos::git {

// In front of libgit2's own reader, in the same database: `directories` are its objects directory and its
// alternates. Of an object that is in a pack as well the pack's is read, by libgit2, as git has it. Writing,
// and looking a name up, stay libgit2's.
void readLooseObjects(git_repository* repository, std::vector<std::string> directories);

}  // namespace factionos::git
