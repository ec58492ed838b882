// Sparse checkouts: entries of the index that are marked as left out of the working tree.
#pragma once

#include <optional>
#include <string>

#include "workers/git/operations.h"
#include "workers/git/sparse_patterns.h"

namespace factionos::git {

// Whether the repository is configured as one; a mark without that is somebody's "leave this file alone".
bool isSparseCheckout(git_repository* repository);

// As git does at each start (since 2.36): what is marked as left out and is there all the same is judged as
// any other file. In memory; an index that is written afterwards has it, as git's own.
void unmarkWhatIsThere(const Opened& opened, git_index* index);

// For an index that is never written: marks of a user's own ("assume unchanged", and left out without a
// sparse checkout) go as well, so that no edit is hidden by them.
void unmarkWhateverIsThere(const Opened& opened, git_index* index);

// Which files of a change are left out of the working tree.
class LeftOut {
 public:
  // `index`, borrowed: as it is before the change.
  LeftOut(const Opened& opened, git_index* index);

  // What the index marks, and of what is new to it what the patterns say. Nothing where that can't be told:
  // the patterns are no cone, or say of a file in the index the contrary of its mark.
  [[nodiscard]] std::optional<bool> of(const std::string& path) const;

 private:
  git_index* index_;
  bool sparse_;
  std::optional<Cone> cone_;
};

// The mark alone, as it is in memory.
bool isMarkedLeftOut(git_index* index, const std::string& path);

}  // namespace factionos::git
