#include "workers/git/index_lock.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/git/files.h"

namespace factionos::git {
namespace {

constexpr const char* kIndex = "index";
constexpr const char* kCopy = "factionos-index";  // libgit2 writes it by way of factionos-index.lock
constexpr const char* kCopyLock = "factionos-index.lock";

void mustWrite(bool fact) {
  git::mustWrite(fact, "index");
}

// A regular file, and no link; none at all is an index too.
sandbox::Fd openIndex(int gitDir, struct stat& status) {
  sandbox::Fd file = openBeneath(gitDir, kIndex, O_RDONLY);
  if (!file && errno == ENOENT) return file;
  mustWrite(file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode));
  return file;
}

// With its times, by which racy entries are known.
void copyIndex(int gitDir, const sandbox::Fd& from, const struct stat& status) {
  const sandbox::Fd to = openBeneath(gitDir, kCopy, O_WRONLY | O_CREAT | O_EXCL, 0600);
  mustWrite(static_cast<bool>(to));
  std::array<char, 65536> buffer;
  ssize_t got = 0;
  while ((got = read(from.get(), buffer.data(), buffer.size())) > 0)
    mustWrite(writeAll(to.get(), {buffer.data(), static_cast<std::size_t>(got)}));
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  mustWrite(got == 0 && fchmod(to.get(), status.st_mode & 0777) == 0 &&
            futimens(to.get(), times.data()) == 0);
}

}  // namespace

std::string fingerprintOf(int gitDir) {
  const sandbox::Fd file = openBeneath(gitDir, kIndex, O_RDONLY);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return "none";
  std::string text = std::to_string(status.st_size) + "." + std::to_string(status.st_mtim.tv_sec) + "." +
                     std::to_string(status.st_mtim.tv_nsec) + "." + std::to_string(status.st_ino) + ".";
  std::array<char, GIT_OID_RAWSZ> sum{};
  if (status.st_size >= GIT_OID_RAWSZ &&
      pread(file.get(), sum.data(), sum.size(), status.st_size - GIT_OID_RAWSZ) == GIT_OID_RAWSZ)
    text.append(sum.data(), sum.size());
  return text;
}

void refuseOverstated(int gitDir) {
  // gitformat-index: "DIRC", a version, the number of entries; each has 62 bytes before its name, in every
  // version.
  constexpr std::size_t kLeastEntry = 62;
  const sandbox::Fd file = openBeneath(gitDir, kIndex, O_RDONLY);
  std::array<unsigned char, 12> head{};
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      pread(file.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()))
    return;
  std::uint32_t entries = 0;
  std::memcpy(&entries, &head[8], sizeof entries);
  if (be32toh(entries) > static_cast<std::uint64_t>(status.st_size) / kLeastEntry)
    throw repositoryRefused("index_unreadable");
}

void refuseIfLocked(int gitDir) {
  if (const auto age = LockFile::ageOf(gitDir, kIndex))
    throw Refusal{"locked", "index_lock", std::to_string(*age)};
}

IndexLock::IndexLock(const Place& place, git_repository* repository, const std::string& actionId, Use use)
    : gitDir_(place.gitDir.handle.get()),
      lock_(gitDir_, kIndex, actionId),
      copy_(place.gitDir.path + "/" + kCopy) {
  if (!lock_.held()) {
    refuseIfLocked(gitDir_);
    throw Refusal{"locked", "index_lock", "0"};  // it has just been let go
  }
  try {
    unlinkat(gitDir_, kCopy, 0);
    unlinkat(gitDir_, kCopyLock, 0);
    refuseOverstated(gitDir_);
    struct stat status {};
    const sandbox::Fd file = openIndex(gitDir_, status);
    if (file && use == Use::kWrite) copyIndex(gitDir_, file, status);
    const std::string path = use == Use::kWrite ? copy_ : place.gitDir.path + "/" + kIndex;
    index_ = make<Index>(git_index_open, path.c_str());
    must(git_repository_set_index(repository, index_.get()));
  } catch (...) {
    unlinkat(gitDir_, kCopy, 0);
    throw;
  }
}

IndexLock::~IndexLock() {
  unlinkat(gitDir_, kCopy, 0);
}

void IndexLock::commit() {
  must(git_index_write(index_.get()));
  mustWrite(renameat(gitDir_, kCopy, gitDir_, kIndex) == 0);
  const sandbox::Fd folder = openBeneath(gitDir_, ".", O_RDONLY | O_DIRECTORY);
  mustWrite(folder && fsync(folder.get()) == 0);
}

void removeLockOf(int gitDir, const std::string& actionId) {
  if (LockFile::isHeldFor(gitDir, kIndex, actionId)) {
    unlinkat(gitDir, kCopyLock, 0);
    unlinkat(gitDir, kCopy, 0);
  }
  LockFile::removeLeft(gitDir, kIndex, actionId);
}

}  // namespace factionos::git
