#include "workers/git/lock_file.h"

#include <algorithm>
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

std::string lockOf(const std::string& name) {
  return name + std::string(kEnding);
}

// Whether two names are one regular file. Nobody but us links a lock to what it is for.
bool areOne(int parent, const std::string& a, const std::string& b) {
  struct stat one {};
  struct stat other {};
  return fstatat(parent, a.c_str(), &one, AT_SYMLINK_NOFOLLOW) == 0 &&
         fstatat(parent, b.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(one.st_mode) &&
         identityOf(one) == identityOf(other);
}

// Where a folder of references was that has none left.
void makeRoom(int parent, const std::string& name) {
  unlinkat(parent, name.c_str(), AT_REMOVEDIR);
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

ComingFile::ComingFile(int parent, const std::string& name, const std::string& actionId,
                       const std::string& content)
    : parent_(parent), name_(name), own_(nameOf(name, actionId)) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL;
  file_ = openBeneath(parent_, own_, kFlags, 0666);
  if (!file_ && errno == EEXIST && unlinkat(parent_, own_.c_str(), 0) == 0)
    file_ = openBeneath(parent_, own_, kFlags, 0666);
  mustWrite(static_cast<bool>(file_), kWhat);
  if (writeAll(file_.get(), content)) return;
  const int why = errno;
  unlinkat(parent_, own_.c_str(), 0);
  errno = why;
  mustWrite(false, kWhat);
}

ComingFile::~ComingFile() {
  if (file_) unlinkat(parent_, own_.c_str(), 0);
}

ComingFile::ComingFile(ComingFile&& other) noexcept = default;

void ComingFile::put() {
  makeRoom(parent_, name_);
  mustWrite(renameat(parent_, own_.c_str(), parent_, name_.c_str()) == 0, kWhat);
  file_.reset();
}

std::string ComingFile::nameOf(const std::string& name, const std::string& actionId) {
  return name + "." + actionId + std::string(kEnding);
}

// No word of it has to be durable for that: a power cut that leaves the lock leaves its twin.
LockFile::LockFile(int parent, std::string name, const std::string& actionId, const std::string& content)
    : parent_(parent),
      name_(std::move(name)),
      actionId_(actionId),
      coming_(parent_, name_, actionId, content.empty() ? wordsOf(actionId) : content) {
  held_ = linkat(parent_, coming_.name().c_str(), parent_, lockOf(name_).c_str(), 0) == 0;
  mustWrite(held_ || errno == EEXIST, kWhat);
}

// The lock first, as long as it can be told whose it is.
LockFile::~LockFile() {
  if (held_) unlinkat(parent_, lockOf(name_).c_str(), 0);
}

// By the lock's own name, so that it is let go of in the same moment; the twin goes with this object.
void LockFile::put() {
  mustWrite(fsync(coming_.file()) == 0, kWhat);
  makeRoom(parent_, name_);
  mustWrite(renameat(parent_, lockOf(name_).c_str(), parent_, name_.c_str()) == 0, kWhat);
  held_ = false;
  mustWrite(fsync(parent_) == 0, kWhat);
}

void LockFile::replace(const std::string& content) {
  // The lock loses its twin: from here on its words tell whose it is.
  mustWrite(fsync(coming_.file()) == 0, kWhat);
  ComingFile known(parent_, name_, actionId_, content);
  mustWrite(fsync(known.file()) == 0, kWhat);
  known.put();
  mustWrite(fsync(parent_) == 0, kWhat);
}

std::optional<std::time_t> LockFile::ageOf(int parent, const std::string& name) {
  struct stat status {};
  if (fstatat(parent, lockOf(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return std::max<std::time_t>(0, std::time(nullptr) - status.st_mtim.tv_sec);
}

// By its words, or by its twin.
bool LockFile::isHeldFor(int parent, const std::string& name, const std::string& actionId) {
  const std::string lock = lockOf(name);
  return readSmall(parent, lock, 128) == wordsOf(actionId) ||
         areOne(parent, lock, ComingFile::nameOf(name, actionId));
}

void LockFile::removeLeft(int parent, const std::string& name, const std::string& actionId) {
  if (isHeldFor(parent, name, actionId)) unlinkat(parent, lockOf(name).c_str(), 0);
  unlinkat(parent, ComingFile::nameOf(name, actionId).c_str(), 0);
}

void LockFile::removeAllLeft(int directory, const std::string& actionId) {
  git::removeAllLeft(openBeneath(directory, ".", O_RDONLY | O_DIRECTORY), actionId, kDeepest);
}

}  // namespace factionos::git
