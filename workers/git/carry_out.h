// Carries a plan out: snapshot, files, index, refs. And what a crash left of it.
#pragma once

#include <string>

#include "workers/git/plan.h"

namespace factionos::git {

// Of HEAD, its commit, the index and what else the plan was made from, as one digest in hex.
std::string stateOf(const Opened& opened, const Plan& plan);

struct Outcome {
  std::string commit;
  std::string branch;
  std::uint32_t files = 0;
  std::uint32_t refs = 0;
  std::uint32_t objects = 0;
};

// A dry run: what it would do, and the state that it was taken on.
struct Preview {
  Plan plan;
  std::string state;
};
Preview preview(const Opened& opened, schema::GitChange::Reader change, Patience& patience);

// On a repository that is used for nothing else. Throws Refusal: "state_moved" if the state is another one,
// and nothing has been written then. `snapshot`: the name of its object as soon as the action has begun.
Outcome carryOut(const Place& place, const std::string& actionId, schema::GitChange::Reader change,
                 const std::string& state, Patience& patience, std::string& snapshot);

schema::GitVerdict reconcile(const Opened& opened, const std::string& actionId);

// ---- Its parts (worktree_change.cpp, worktree_removal.cpp, transfer.cpp).
void addWorktree(const Opened& opened, const WorktreeEdit& edit, const std::string& mark);
// Judges it once more when it has been given another name. Throws Refusal as addRemoval() does, and then
// it has its name again; or "not_this_worktree", "kept_aside" where something else has that by then.
void removeWorktree(const Opened& opened, LinkedTree& tree, const std::string& actionId, Patience& patience);
// The rest of what removeWorktree() began and was cut off in. Where it had not begun to remove anything, what
// it had given another name gets its own back.
void finishRemoval(const Opened& opened, const WorktreeEdit& edit, const std::string& actionId);
// Removes what addWorktree() left that was cut off, and nothing that it did not make.
void tidyNewWorktree(const Opened& opened, const WorktreeEdit& edit, const std::string& mark);
void moveRemote(const Opened& opened, const PushEdit& push, const std::string& actionId);
void removeRemoteLock(const Opened& opened, const PushEdit& push, const std::string& actionId);
// Whether the remote's branch is what the push made of it, or has gone on from there.
bool remoteHas(const Opened& opened, const PushEdit& push);

}  // namespace factionos::git
