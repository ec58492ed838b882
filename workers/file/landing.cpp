#include "workers/file/landing.h"

#include <cerrno>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace factionos::file {
namespace {

int renameWith(int directory, const std::string& from, const std::string& to, unsigned flags) {
  return static_cast<int>(syscall(SYS_renameat2, directory, from.c_str(), directory, to.c_str(), flags));
}

std::optional<Sha> shaAt(int directory, const std::string& name) {
  const auto file = openHere(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return shaOf(file.get());
}

bool exists(int directory, const std::string& name) {
  return faccessat(directory, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

std::optional<Denied> Landing::durable() const {
  if (fsync(directory) != 0) return denials::kUnsure;
  return std::nullopt;
}

Denied Landing::givenUp(int error) const {
  dropTemporary();
  return error == EEXIST || error == ENOENT ? denials::kChanged : denialOf(error);
}

bool Landing::isStill(const Identity& expected) const {
  struct stat status {};
  return fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         identityOf(status) == expected;
}

bool Landing::temporaryIs(const Sha& sha) const {
  return shaAt(directory, temporary) == sha;
}

void Landing::dropTemporary() const {
  unlinkat(directory, temporary.c_str(), 0);
}

std::optional<Denied> Landing::create() const {
  if (renameWith(directory, temporary, name, RENAME_NOREPLACE) == 0) return durable();
  if (errno != EINVAL) return givenUp(errno);
  // A file system that can't do it in one step: a link does not replace either.
  if (linkat(directory, temporary.c_str(), directory, name.c_str(), 0) != 0) return givenUp(errno);
  dropTemporary();
  return durable();
}

std::optional<Denied> Landing::replace(const Identity& expected, const Sha& sha) const {
  if (!isStill(expected)) return givenUp(ENOENT);
  if (renameWith(directory, temporary, name, RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL) return givenUp(errno);
    // A file system without it: what was just looked at is replaced as it is.
    if (renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) return givenUp(errno);
    return durable();
  }
  if (temporaryIs(sha)) {
    dropTemporary();
    return durable();
  }
  if (renameWith(directory, temporary, name, RENAME_EXCHANGE) == 0) dropTemporary();
  return denials::kChanged;
}

std::optional<Denied> Landing::remove(const Identity& expected, const Sha& sha) const {
  if (!isStill(expected)) return denials::kChanged;
  if (renameWith(directory, name, temporary, RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return denials::kCrowded;
    if (errno != EINVAL) return errno == ENOENT ? denials::kChanged : denialOf(errno);
    if (renameat(directory, name.c_str(), directory, temporary.c_str()) != 0) return denialOf(errno);
  }
  if (temporaryIs(sha)) {
    dropTemporary();
    return durable();
  }
  (void)renameWith(directory, temporary, name, RENAME_NOREPLACE);
  return denials::kChanged;
}

// The temporary name tells: it holds what was to come, what was displaced, or nothing any more.
Landed Landing::settle(const KeptRecord& record) const {
  if (!exists(directory, temporary)) {
    if (record.after) return Landed::kYes;
    struct stat status {};
    // A file system gives a number again at once: somebody's new file may have the old one's.
    const bool same = fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                      status.st_ino == record.inode && shaAt(directory, name) == record.before;
    return same ? Landed::kNo : Landed::kYes;
  }
  if (record.before && temporaryIs(*record.before)) {
    // Displaced. Where old and new are alike either answer is true.
    dropTemporary();
    return durable() ? Landed::kCantTell : Landed::kYes;
  }
  if (record.after && temporaryIs(*record.after)) {
    dropTemporary();
    return Landed::kNo;
  }
  // What was displaced is not what was to be replaced: it goes back to its place.
  const unsigned flags = record.after ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (renameWith(directory, temporary, name, flags) != 0) return Landed::kCantTell;
  if (record.after) dropTemporary();
  return durable() ? Landed::kCantTell : Landed::kNo;
}

}  // namespace factionos::file
