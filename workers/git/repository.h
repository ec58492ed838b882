// A repository opened on the view of its configuration, never on the configuration itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <git2/sys/repository.h>

#include "workers/git/handles.h"
#include "workers/git/locate.h"
#include "workers/git/names.h"

namespace factionos::git {

// Opens what was located. Nothing of the repository's own configuration takes part: it is opened as a bare
// directory, gets the view as its configuration, and only then its working tree. Throws Refusal, also when
// libgit2 found other directories than were judged.
Repository openRepository(const Place& place);

// A repository without a working tree, for what is fetched from and pushed to.
Repository openBare(const Directory& gitDir);

struct Head {
  std::string name;  // "refs/heads/main"; "HEAD" where it is detached
  git_oid commit{};  // zero where there is none yet
  bool detached = false;

  [[nodiscard]] bool unborn() const { return git_oid_is_zero(&commit) != 0; }
  [[nodiscard]] std::string branch() const;  // "main"; empty where it is detached
};
// By a branch that is only another name of one: on that one, as by git.
Head headOf(git_repository* repository);

// What a reference (full name) leads to where it is only another name: a reference that is none, or is not
// there. Throws Refusal where that can't be told.
std::string endOf(git_repository* repository, std::string name);

std::string hexOf(const git_oid& id);
git_oid oidOf(std::string_view hex);  // throws Refusal unless it is 40 digits

// Throws Refusal where there is none, or it is no commit.
Commit resolve(git_repository* repository, const Revision& revision);
Commit commitOf(git_repository* repository, const git_oid& id);
Tree treeOf(git_repository* repository, const git_oid& commit);  // null for the zero id

// An answer is worked on for so long; the work asks now and then. Cancelled: nobody waits for it any more.
class Patience {
 public:
  virtual bool over() = 0;

 protected:
  ~Patience() = default;
};

}  // namespace factionos::git
