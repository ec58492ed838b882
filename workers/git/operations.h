// The operations that read. Each runs on the worker's one thread for work, throws Refusal, and asks its
// patience now and then.
#pragma once

#include "protocol/schemas/git.capnp.h"
#include "workers/git/repository.h"

namespace factionos::git {

// What they work on.
struct Opened {
  const Place& place;
  git_repository* repository;

  [[nodiscard]] int workTree() const { return place.workTree.handle.get(); }
  // As it is on disk now.
  [[nodiscard]] Index index() const;
};

void status(const Opened& opened, schema::GitStatusRequest::Reader request, schema::GitStatus::Builder status,
            Patience& patience);
void diff(const Opened& opened, schema::GitDiffRequest::Reader request, schema::GitDiff::Builder diff,
          Patience& patience);
void log(const Opened& opened, schema::GitLogRequest::Reader request, schema::GitLog::Builder log,
         Patience& patience);
void show(const Opened& opened, schema::GitShowRequest::Reader request, schema::GitShow::Builder show,
          Patience& patience);
void branches(const Opened& opened, schema::GitBranchesRequest::Reader request,
              schema::GitBranches::Builder branches, Patience& patience);

struct WorktreeRow {
  std::string name;
  std::string directory;  // relative to the workspace; empty where it lies elsewhere
  std::string path;       // never leaves the worker
  std::string branch;
  std::string commit;
  // By their full names, beside `branch`: what that only leads to, and what a rebase or a bisection in it
  // comes back to or moves.
  std::vector<std::string> held;
  bool locked = false;
  bool missing = false;
  bool main = false;
  bool here = false;  // it is the one that is worked in

  // Whether a branch, by its full name, is in use there, as git has it. One that is missing is nowhere,
  // unless it is locked: then it comes back.
  [[nodiscard]] bool uses(std::string_view full) const;
};
// The main one first, if there is one.
std::vector<WorktreeRow> worktrees(const Opened& opened);

// Parts that several operations share.
// What is under way in the working tree, by git's own word; null: nothing. A row of picks or reverts is so
// between two of them, too.
const char* underway(const Opened& opened);
void fillHead(const Opened& opened, schema::GitHead::Builder head);
// `parents`: those that it has here.
void fillCommit(git_commit* commit, const std::vector<git_oid>& parents, schema::GitLogEntry::Builder entry);

}  // namespace factionos::git
