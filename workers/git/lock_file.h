// NAME.lock, by which every git keeps others from NAME: held with our words in it, so that after a crash it
// is known whose it was.
#pragma once

#include <string>

namespace factionos::git {

class LockFile {
 public:
  // Takes `name`.lock in `parent` (borrowed, outlives it) in the name of the action, unless there is one. It
  // comes to be with its words, by a link, so that it is nobody's at no time. Throws as mustWrite() does.
  LockFile(int parent, std::string name, const std::string& actionId);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // False: somebody else has it.
  [[nodiscard]] bool held() const { return held_; }
  // `name` gets this content at once, and for good. Throws as mustWrite() does.
  void replace(const std::string& content) const;

  // Whether somebody holds it for this action, or died so.
  static bool isHeldFor(int parent, const std::string& name, const std::string& actionId);
  // What a worker left that died while it held or took it for this action; nobody else's.
  static void removeLeft(int parent, const std::string& name, const std::string& actionId);
  // The same for every name in `directory` and below it.
  static void removeAllLeft(int directory, const std::string& actionId);

 private:
  int parent_;
  std::string name_;
  std::string own_;  // what becomes the lock or the content
  bool held_ = false;
};

}  // namespace factionos::git
