// From what is asked for to what would change. Every mutating operation is one function that makes a Plan;
// carrying it out, undoing it and telling how far it came are the same for all (carry_out.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workers/git/change_set.h"
#include "workers/git/operations.h"
#include "workers/git/tree_writer.h"

namespace factionos::git {

// kDry writes nothing at all: names of objects that don't exist yet are left out of the change set. kWrite
// puts blobs, trees and commits into the object database, where nothing refers to them yet.
using Store = TreeWriter::Store;

struct Planning {
  Opened opened;
  git_index* index;  // as it is now
  Store store;
  Patience& patience;

  [[nodiscard]] TreeWriter writer() const { return {opened.repository, opened.workTree()}; }
};

// A linked worktree that is to be removed.
struct LinkedTree {
  std::string name;
  sandbox::Fd parent;          // of its directory
  std::string leaf;            // its name there
  sandbox::Fd directory;       // none where it is gone
  sandbox::Fd admin;           // what the repository keeps of it
  std::optional<Place> place;  // of the directory, as it was judged
  std::uint32_t files = 0;
  bool begun = false;  // `directory` is what a removal of it has left that was cut off

  [[nodiscard]] std::string basis() const;  // another one where another directory is held
};

struct Plan {
  ChangeSet set;
  std::map<std::string, Stamp, std::less<>> stamps;  // of the files that are replaced or removed, by path
  std::optional<LinkedTree> removed;
  std::string target;  // a label
  // The branch that HEAD is to be on, if any, and the commit whose files are written for it.
  std::pair<std::string, std::string> goal;
  std::string basis;  // what else it was made from, beside HEAD and the index
  std::uint32_t files = 0;
  std::uint64_t insertions = 0;
  std::uint64_t deletions = 0;
  std::uint32_t commits = 0;
  std::uint32_t objects = 0;
  std::vector<std::string> notes;
  std::string committer;  // "Name <email>", for reflogs; empty: as the repository says
};

Plan planFor(const Planning& planning, schema::GitChange::Reader change);

Plan planStage(const Planning& planning, schema::GitStage::Reader request);
Plan planUnstage(const Planning& planning, schema::GitStage::Reader request);
Plan planCommit(const Planning& planning, schema::GitCommit::Reader request);
Plan planBranchCreate(const Planning& planning, schema::GitBranchCreate::Reader request);
Plan planCheckout(const Planning& planning, schema::GitCheckout::Reader request);
Plan planWorktreeAdd(const Planning& planning, schema::GitWorktreeAdd::Reader request);
Plan planWorktreeRemove(const Planning& planning, schema::GitWorktreeRemove::Reader request);
Plan planFetch(const Planning& planning, schema::GitFetch::Reader request);
Plan planPush(const Planning& planning, schema::GitPush::Reader request);
Plan planRollback(const Planning& planning, schema::GitRollback::Reader request);

// ---- Parts that several of them share.

inline constexpr std::size_t kMostTouched = 100'000;  // files or entries of one action

IndexState indexStateOf(git_index* index, const std::string& path);
// A file as it is found, whose entry in the index has the mode `kept`: core.filemode=false, it is to keep it.
FileState withIndexMode(const Planning& planning, std::uint32_t kept, FileState file);
FileState fileStateOf(git_tree* tree, const std::string& path);
// "abc…" or empty, of a ref by its full name.
std::string refStateOf(git_repository* repository, const std::string& name);
// The same of a branch that is to be checked out or pushed. Denied "unavailable" where it is
// another name of one: which of the two is meant is git's to say.
std::string branchStateOf(git_repository* repository, const std::string& name);
std::string headStateOf(git_repository* repository);  // "ref: refs/heads/main" or 40 digits
// "branch:main", as far as a label can say it.
std::string labelOf(std::string_view what, std::string_view name);
// What HEAD, index and working tree hold is one and the same, untracked files aside. Else denied "not_clean".
void mustBeClean(const Planning& planning);
// To a plan whose change set has its removal: that linked worktree, held, so that what is removed is what was
// judged, and what its HEAD is. Denied where it is "locked"; its directory is not it: "not_this_worktree"; a
// merge or the like is "underway" in it; or it holds anything that is in no commit, or of submodules:
// "not_clean".
void addRemoval(const Planning& planning, const WorktreeRow& row, Plan& plan);
// Denied "exists" where the repository has an entry of that name, or of that directory even though nothing is
// there, which would be two of one tree; or where anything is there.
void mustBeNoWorktree(const Planning& planning, const std::string& name, const std::string& directory);
// What would stop a worktree of that commit in the middle: denied "path_protected", "filter_attribute",
// "invalid" for a name that must not be written, "too_large". How many files it has.
std::uint32_t judgedNewWorktree(const Planning& planning, const git_oid& commit);
// From one commit to another, in order of paths. Denied "too_large" above kMostTouched.
std::vector<FileEdit> differenceOf(const Planning& planning, const git_oid& from, const git_oid& to);
// Denied "checked_out_elsewhere" where a working tree, this one too, uses that branch (full name), but for
// those that `but` names.
void mustBeNowhereElse(const Planning& planning, const std::string& branch,
                       const std::function<bool(const WorktreeRow&)>& but = {});
// Entries that can't be beside what `edits` puts into the index, a file beside what lies below its name, and
// that none of them is of. Each as one that goes.
std::vector<IndexEdit> inTheWayOf(git_index* index, const std::vector<IndexEdit>& edits);
// Of the files that the plan replaces or removes, as they are: before they are judged.
void addStamps(const Planning& planning, Plan& plan);
// Of a protected name (SPEC's list, as sessions and the file family have it) nothing is made, changed or
// removed in the working tree: denied "path_protected" with how many of these files have one.
void mustBeFree(const Planning& planning, const std::vector<FileEdit>& files);
bool isProtected(const Planning& planning, const std::string& path);
// What is not tracked stays, and in a directory that becomes a file as well: denied "would_overwrite" with
// how many files are in the way of these.
void mustNotOverwrite(const Planning& planning, const std::vector<FileEdit>& files);
// By the working tree's attributes and by those of the commit that is to be checked out: what either would
// hand to a program is not checked out.
void mustNeedNoProgram(git_repository* repository, const std::string& path, const git_oid& commit);
// Denied where a merge, a rebase or the like is under way.
void mustBeIdle(const Opened& opened);

}  // namespace factionos::git
