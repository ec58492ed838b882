// What is kept of an action in the repository itself, under refs/factionos/ACTION: the change set as a blob,
// with what it refers to and nothing else does; the commit that HEAD was on, and the one that a worktree on
// no branch was on; and, once it is done, that it is.
#pragma once

#include <optional>
#include <string>

#include "workers/git/change_set.h"
#include "workers/git/handles.h"
#include "workers/git/loose_objects.h"
#include "workers/git/ref_writer.h"

namespace factionos::git {

inline constexpr std::size_t kKeptSnapshots = 200;  // older ones are let go

// An id of an action is a part of a ref's name: letters, digits and "_". Throws Refusal.
void mustBeActionId(std::string_view id);

// Durable before it returns. `commonDir`: borrowed. With all that `together` has noted. `head`: zero where
// there is no commit yet. The object that holds it: whoever wants to undo the action asks by its name, since
// the references can be moved by anybody who may write here.
git_oid keepSnapshot(git_repository* repository, int commonDir, const RefWriter& refs,
                     const std::string& actionId, const ChangeSet& set, const git_oid& head,
                     const ObjectsTogether& together);
void markDone(git_repository* repository, const RefWriter& refs, const std::string& actionId);

struct Kept {
  ChangeSet set;
  bool done = false;
};
// As the references tell, so for a look and never to write anything by it. Empty where the action has begun
// nothing.
std::optional<Kept> snapshotOf(git_repository* repository, const std::string& actionId);
// What keepSnapshot() gave that name; libgit2 compares contents with names. Empty where it is gone.
std::optional<ChangeSet> snapshotAt(git_repository* repository, const git_oid& id);

}  // namespace factionos::git
