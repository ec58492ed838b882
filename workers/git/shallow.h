// Where the history of a shallow clone ends: commits that name parents which are not there.
#pragma once

#include <set>
#include <vector>

#include <git2.h>

#include "workers/git/operations.h"

namespace factionos::git {

// Throws repositoryRefused "shallow": where a history is cut off, a commit that is there does not say that
// its parents are; what is sent would lack them, and nothing would tell.
void mustBeWhole(const Directory& commonDir);

// What git makes of it: a commit at the boundary has no parents. Nothing else asks libgit2 1.5 for it.
class Boundary {
 public:
  // Throws repositoryRefused "shallow" where the list of it is no small plain file, or malformed.
  explicit Boundary(const Directory& commonDir);

  [[nodiscard]] bool none() const { return commits_.empty(); }
  [[nodiscard]] std::vector<git_oid> parentsOf(git_commit* commit) const;

  // From `start`, the latest first as git has it, no more than `most`. Throws Refusal "timed_out".
  [[nodiscard]] std::vector<git_oid> log(git_repository* repository, const git_oid& start, std::size_t most,
                                         Patience& patience) const;

  // How many commits each of them has that the other one lacks.
  struct Distance {
    std::size_t ahead = 0;
    std::size_t behind = 0;
  };
  [[nodiscard]] Distance distance(git_repository* repository, const git_oid& one, const git_oid& other) const;

 private:
  struct Less {
    bool operator()(const git_oid& a, const git_oid& b) const { return git_oid_cmp(&a, &b) < 0; }
  };
  using Commits = std::set<git_oid, Less>;
  [[nodiscard]] Commits reachedFrom(git_repository* repository, const git_oid& tip) const;

  Commits commits_;
};

}  // namespace factionos::git
