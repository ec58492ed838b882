// NAME.lock, by which every git keeps others from NAME: ours can be told from anybody else's, so that after a
// crash it is known whose it was.
#pragma once

#include <ctime>
#include <optional>
#include <string>

#include "sandbox/descriptors.h"

namespace factionos::git {

// NAME.ACTION.lock beside NAME, and what NAME is to become. Goes with this object unless it has become that.
class ComingFile {
 public:
  // In `parent` (borrowed, outlives it), with this content, which is not durable yet. What an earlier attempt
  // left goes. Throws as mustWrite() does.
  ComingFile(int parent, const std::string& name, const std::string& actionId, const std::string& content);
  ~ComingFile();
  ComingFile(ComingFile&& other) noexcept;
  ComingFile& operator=(ComingFile&&) = delete;

  [[nodiscard]] int file() const { return file_.get(); }
  [[nodiscard]] const std::string& name() const { return own_; }
  // It is `name` now, at once. Content and directory are the caller's to make durable, before and after.
  void put();

  static std::string nameOf(const std::string& name, const std::string& actionId);

 private:
  int parent_;
  std::string name_;
  std::string own_;
  sandbox::Fd file_;  // none: it is ours no more
};

class LockFile {
 public:
  // Takes `name`.lock in `parent` (borrowed, outlives it) in the name of the action, unless there is one. It
  // comes to be by a link to what `name` is to become, which stays beside it: who finds both knows whose they
  // are, without having read a word of either. `content`: that; where nothing is known yet, words of ours.
  // Throws as mustWrite() does.
  LockFile(int parent, std::string name, const std::string& actionId, const std::string& content = {});
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // False: somebody else has it.
  [[nodiscard]] bool held() const { return held_; }
  // `name` gets the content at once, and for good, and the lock is no more. Throws as mustWrite() does.
  void put();
  // The same, of what is known by now.
  void replace(const std::string& content);

  // Of a lock that is there, whoever has it: in seconds.
  static std::optional<std::time_t> ageOf(int parent, const std::string& name);
  // Whether somebody holds it for this action, or died so.
  static bool isHeldFor(int parent, const std::string& name, const std::string& actionId);
  // What a worker left that died while it held or took it for this action; nobody else's.
  static void removeLeft(int parent, const std::string& name, const std::string& actionId);
  // The same for every name in `directory` and below it.
  static void removeAllLeft(int directory, const std::string& actionId);

 private:
  int parent_;
  std::string name_;
  std::string actionId_;
  ComingFile coming_;
  bool held_ = false;
};

}  // namespace factionos::git
