// Differences between HEAD, index and working tree as they are found, without ever taking a lock, writing the
// index, or entering a submodule.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <git2.h>

#include "protocol/schemas/git.capnp.h"
#include "workers/git/repository.h"

namespace factionos::git {

struct Change {
  std::string path;
  std::string oldPath;  // of what was renamed
  schema::GitEdit edit = schema::GitEdit::NONE;
  bool submodule = false;
  bool unjudged = false;
};

schema::GitEdit editOf(git_delta_t status);

// For a difference between trees, or of one to the index: modes that git takes for the same are no
// difference.
void takeModesAsGitDoes(git_diff_options& options);

// An entry that says that a file is to be added one day (`git add --intent-to-add`), with nothing staged of
// it.
bool isIntended(const git_index_entry& entry);
bool isIntended(git_index* index, const std::string& path);
bool holdsIntended(git_index* index);

// What of an index would be committed: null where that is all of it, else a copy in memory without the
// entries that are but intended.
Index withoutIntended(git_index* index);

// HEAD to index with renames, as `git status` finds them, submodules' pointers among them. `index` as it is
// in memory.
std::vector<Change> stagedChanges(git_repository* repository, git_index* index, const git_oid& head);

enum class Walk { kWhole, kCutShort };

struct WorkTreeQuery {
  schema::Untracked untracked = schema::Untracked::NORMAL;
  int workTree = -1;               // descriptor
  std::vector<std::string> below;  // literal paths; empty: everything
};

// Index to working tree: `tracked` and `untracked` (a directory ends with a slash) are called in order of
// paths, those of entries that are but intended behind all others. What has a conflict is left out, and so is
// what a sparse checkout leaves out. kCutShort: patience was over.
Walk workTreeChanges(git_repository* repository, git_index* index, const WorkTreeQuery& query,
                     Patience& patience, const std::function<void(const Change&)>& tracked,
                     const std::function<void(std::string_view)>& untracked);

struct Conflict {
  std::string path;
  schema::GitConflict kind = schema::GitConflict::NONE;
};
std::vector<Conflict> conflictsOf(git_index* index);

}  // namespace factionos::git
