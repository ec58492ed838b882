#include "workers/git/lock_file.h"

#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/entries.h"
#include "workers/git/files.h"

namespace factionos::git {
namespace {

constexpr const char* kWhat = "reference_or_index";
constexpr std::string_view kEnding = ".lock";
constexpr int kDeepest = 64;  // of references; no name has as many parts

std::string wordsOf(const std::string& actionId) {
  return "factionos " + actionId + "\n";
}

std::string ownName(const std::string& name, const std::string& actionId) {
  return name + "." + actionId + std::string(kEnding);
}

void makeFile(int parent, const std::string& name, const std::string& text) {
  sandbox::Fd file = openBeneath(parent, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (!file && errno == EEXIST && unlinkat(parent, name.c_str(), 0) == 0)
    file = openBeneath(parent, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
  mustWrite(file && writeAll(file.get(), text) && fchmod(file.get(), 0644) == 0 && fsync(file.get()) == 0,
            kWhat);
}

void removeAllLeft(sandbox::Fd directory, const std::string& actionId, int depth) {
  if (depth == 0) return;
  const sandbox::DirectoryStream stream = sandbox::streamOf(std::move(directory));
  const int handle = stream ? dirfd(stream.get()) : -1;
  std::vector<std::string> locks;
  while (const dirent* entry = stream ? sandbox::nextEntry(stream.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name.ends_with(kEnding)) {
      locks.push_back(name.substr(0, name.size() - kEnding.size()));
    } else if (sandbox::Fd below = openBeneath(handle, name, O_RDONLY | O_DIRECTORY)) {
      removeAllLeft(std::move(below), actionId, depth - 1);
    }
  }
  const std::string mark = "." + actionId;
  for (const std::string& lock : locks) {
    const bool own = lock.ends_with(mark);
    LockFile::removeLeft(handle, own ? lock.substr(0, lock.size() - mark.size()) : lock, actionId);
  }
}

}  // namespace

LockFile::LockFile(int parent, std::string name, const std::string& actionId)
    : parent_(parent), name_(std::move(name)), own_(ownName(name_, actionId)) {
  try {
    makeFile(parent_, own_, wordsOf(actionId));
    held_ = linkat(parent_, own_.c_str(), parent_, (name_ + std::string(kEnding)).c_str(), 0) == 0;
    mustWrite(held_ || errno == EEXIST, kWhat);
  } catch (...) {
    unlinkat(parent_, own_.c_str(), 0);
    throw;
  }
  unlinkat(parent_, own_.c_str(), 0);
}

LockFile::~LockFile() {
  if (!held_) return;
  unlinkat(parent_, own_.c_str(), 0);
  unlinkat(parent_, (name_ + std::string(kEnding)).c_str(), 0);
}

void LockFile::replace(const std::string& content) const {
  makeFile(parent_, own_, content);
  // What was a folder of references and has none left.
  unlinkat(parent_, name_.c_str(), AT_REMOVEDIR);
  mustWrite(renameat(parent_, own_.c_str(), parent_, name_.c_str()) == 0 && fsync(parent_) == 0, kWhat);
}

bool LockFile::isHeldFor(int parent, const std::string& name, const std::string& actionId) {
  return readSmall(parent, name + std::string(kEnding), 128) == wordsOf(actionId);
}

void LockFile::removeLeft(int parent, const std::string& name, const std::string& actionId) {
  unlinkat(parent, ownName(name, actionId).c_str(), 0);
  if (isHeldFor(parent, name, actionId)) unlinkat(parent, (name + std::string(kEnding)).c_str(), 0);
}

void LockFile::removeAllLeft(int directory, const std::string& actionId) {
  git::removeAllLeft(openBeneath(directory, ".", O_RDONLY | O_DIRECTORY), actionId, kDeepest);
}

}  // namespace factionos::git
