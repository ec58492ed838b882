// References and their logs, written as git does and by descriptor: what lies below the git directory can be
// replaced by a link at any time, and libgit2 would follow it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workers/git/change_set.h"
#include "workers/git/repository.h"

namespace factionos::git {

inline constexpr const char* kPackedRefs = "packed-refs";
inline constexpr std::size_t kMostPackedBytes = std::size_t{64} << 20;

class RefWriter {
 public:
  // `gitDir` has HEAD, `commonDir` the rest; borrowed, as is the repository, by which current values are
  // read. `actionId`: its locks say so, and so can be told from anybody else's (removeLocks()).
  RefWriter(git_repository* repository, int gitDir, int commonDir, std::string actionId);
  RefWriter(git_repository* repository, const Place& place, std::string actionId);

  // "Name <email>", for the logs.
  void identify(const std::string& committer);
  // Throws Refusal: "state_moved" unless it is `before`, "locked" where somebody holds its lock, and
  // "repository_refused" where a link or no plain file is in the way. Nothing is changed then.
  void write(const RefEdit& ref, const std::string& message) const;
  // The value that it has now is no matter.
  void set(const std::string& name, const std::string& after) const;

  // What this action left that was cut off: of these references, of snapshots and of what all share.
  void removeLocks(const std::vector<std::string>& names) const;

 private:
  class Lock;
  [[nodiscard]] int baseOf(const std::string& name) const { return name == "HEAD" ? gitDir_ : commonDir_; }
  [[nodiscard]] std::vector<sandbox::Fd> logsOf(const std::string& name) const;
  [[nodiscard]] sandbox::Fd logOf(const std::string& name) const;
  void mustBeFree(const std::string& name) const;
  void remove(const Lock& lock, const std::string& name) const;
  void removePacked(const std::string& name) const;
  [[nodiscard]] std::string commitOf(const std::string& value) const;

  git_repository* repository_;
  int gitDir_;
  int commonDir_;
  std::string actionId_;
  std::string person_ = "factionos <factionos@localhost>";
  std::string logs_;  // core.logAllRefUpdates
};

}  // namespace factionos::git
