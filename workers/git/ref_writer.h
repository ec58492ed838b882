// References and their logs, written as git does and by descriptor: what lies below the git directory can be
// replaced by a link at any time, and libgit2 would follow it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workers/git/change_set.h"
#include "workers/git/repository.h"

namespace factionos::git {

inline constexpr const char* kPackedRefs = "packed-refs";
inline constexpr std::size_t kMostPackedBytes = std::size_t{64} << 20;

class RefWriter {
  class Lock;

 public:
  // `gitDir` has HEAD, `commonDir` the rest; borrowed, as is the repository, by which current values are
  // read. `actionId`: its locks say so, and so can be told from anybody else's (removeLocks()).
  RefWriter(git_repository* repository, int gitDir, int commonDir, std::string actionId);
  RefWriter(git_repository* repository, const Place& place, std::string actionId);

  // "Name <email>", for the logs.
  void identify(const std::string& committer);
  // References that are to change, each under its lock and found to be what it was: from here on nobody else
  // changes them, and nothing of ours stops them from it but the file system. Lets go of what is not written.
  class Held {
   public:
    Held(Held&&) noexcept;
    ~Held();

   private:
    friend class RefWriter;
    struct One;
    Held();
    std::vector<std::unique_ptr<One>> all_;
    std::unique_ptr<Lock> packed_;  // where one goes that is packed
  };
  // Throws Refusal: "state_moved" unless they are `before`, "locked" with its age where somebody holds a
  // lock, "exists" where another one's name is in the way of a new one's, and "repository_refused" where a
  // link or no plain file is. Nothing is changed then.
  [[nodiscard]] Held hold(std::span<const RefEdit> refs) const;
  // In this order.
  void write(Held held, const std::string& message) const;
  // Of one.
  void write(const RefEdit& ref, const std::string& message) const;
  // Denied "locked" as by hold(), without taking any, and of a new branch "exists".
  void refuseWhatHoldWould(std::span<const RefEdit> refs) const;
  // The value that it has now is no matter.
  void set(const std::string& name, const std::string& after) const;

  // References below refs/factionos/ACTION, which are made by this action alone and once: no lock is needed.
  // They come in this order once `first` is durable, which they refer to, and all are durable before this
  // returns; of `refs` that are too many to be held open, those in front are before the others come.
  struct NewRef {
    std::string name;
    std::string value;
  };
  void bring(const std::vector<NewRef>& refs, const std::vector<sandbox::Fd>& first) const;
  // A reference of this action that is what another one beside it is, without another file. False, and
  // nothing has changed: where `from` is none by itself, `to` is there already, or somebody holds its lock.
  // Durable before it returns.
  [[nodiscard]] bool copy(const std::string& from, const std::string& to) const;

  // What this action left that was cut off: of these references, of snapshots and of what all share.
  void removeLocks(const std::vector<std::string>& names) const;

 private:
  [[nodiscard]] int baseOf(const std::string& name) const { return name == "HEAD" ? gitDir_ : commonDir_; }
  [[nodiscard]] std::vector<sandbox::Fd> logsOf(const std::string& name) const;
  [[nodiscard]] sandbox::Fd logOf(const std::string& name) const;
  void write(Held::One& one, std::unique_ptr<Lock>& packed, const std::string& message) const;
  void mustBeFree(const std::string& name) const;
  void bringSome(std::span<const NewRef> refs, const std::vector<sandbox::Fd>& first) const;
  void remove(const Lock& lock, const std::string& name, std::unique_ptr<Lock>& packed) const;
  void removePacked(const std::string& name, std::unique_ptr<Lock>& packed) const;
  [[nodiscard]] bool isPacked(const std::string& name) const;
  [[nodiscard]] std::string commitOf(const std::string& value) const;

  git_repository* repository_;
  int gitDir_;
  int commonDir_;
  std::string actionId_;
  std::string person_ = "factionos <factionos@localhost>";
  std::string logs_;  // core.logAllRefUpdates
};

}  // namespace factionos::git
