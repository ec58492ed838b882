// The index as git itself changes it: under index.lock, on a copy, put in place at once.
#pragma once

#include <string>

#include "workers/git/lock_file.h"
#include "workers/git/operations.h"

namespace factionos::git {

// The numbers in the index's last bytes, its size and its time: another one after any change.
std::string fingerprintOf(int gitDir);

// Throws repositoryRefused "index_unreadable" for an index whose first bytes claim more entries than the file
// has room for: libgit2 takes memory for as many before it reads the first. None at all is an index too.
void refuseOverstated(int gitDir);

// Denied "locked" with the age of a lock that is there: whose it is can't be told, so it is never removed.
void refuseIfLocked(int gitDir);

class IndexLock {
 public:
  // kHold: nobody changes it meanwhile, neither do we; no copy is needed.
  enum class Use { kHold, kWrite };
  // Takes the lock, in the name of the action, and makes a copy the index of `repository`, which is used for
  // nothing else. Throws Refusal.
  IndexLock(const Place& place, git_repository* repository, const std::string& actionId, Use use);
  ~IndexLock();
  IndexLock(const IndexLock&) = delete;
  IndexLock& operator=(const IndexLock&) = delete;

  [[nodiscard]] git_index* index() const { return index_.get(); }
  // Writes what index() holds and puts it in place. Of kWrite alone.
  void commit();

 private:
  int gitDir_;
  LockFile lock_;
  std::string copy_;  // path
  Index index_;
};

// Removes what a worker left that died while it held the lock for this action; nobody else's.
void removeLockOf(int gitDir, const std::string& actionId);

}  // namespace factionos::git
