// The profiles of the git worker: one that can write and one that can't.
#pragma once

#include <vector>

#include "sandbox/policy.h"
#include "workers/common/repository_scope.h"

namespace factionos::git {

using worker::Access;

// What it enters before it looks at anything: the directories that it was started with.
sandbox::Policy policy(Access access, const std::vector<int>& directories);

// What is left once it knows its repository: `own` are its working tree, git directory and common directory,
// to push also its remotes; `read` the alternates and remotes that it may only read.
sandbox::LandlockPolicy repositoryFiles(Access access, const std::vector<int>& own,
                                        const std::vector<int>& read);

}  // namespace factionos::git
