#include "workers/git/replacing.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "workers/git/refusal.h"

namespace factionos::git {
namespace {

void mustWrite(bool fact) {
  git::mustWrite(fact, "working_tree");
}

bool isBefore(const timespec& one, const timespec& other) {
  return one.tv_sec < other.tv_sec || (one.tv_sec == other.tv_sec && one.tv_nsec < other.tv_nsec);
}

bool isSame(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

// As it was written, whatever it has been called since.
bool isUntouched(const Stamp& now, const Stamp& then) {
  return now.mode == then.mode && now.identity == then.identity && now.size == then.size &&
         isSame(now.modified, then.modified);
}

enum class Place { kOwn, kTaken };  // a rename alone gives a file another time of change

bool isStill(int parent, const std::string& name, const KnownFile& known, Place place) {
  const Stamp now = stampOf(parent, name);
  const Stamp& then = known.stamp;
  if (now.mode == 0 || now.mode != then.mode) return false;
  if (then.settled && isUntouched(now, then) && (place == Place::kTaken || isSame(now.changed, then.changed)))
    return true;
  return known.hasItsContent(parent, name);
}

[[noreturn]] void refuseEdited() {
  throw Refusal{"would_overwrite", "edited", "1"};
}

// What lies at `aside` was somebody's at `name`, where something else may have come since.
[[noreturn]] void giveBack(int parent, const std::string& name, const std::string& aside) {
  if (renameToFree(parent, aside, name) == 0) refuseEdited();
  throw Refusal{"would_overwrite", "kept_aside"};
}

}  // namespace

Stamp stampOf(int parent, const std::string& name) {
  // What is written after this moment gets no earlier time: file systems take theirs from the same clock.
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  struct stat status {};
  if (fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return {status.st_mode, identityOf(status), status.st_size,
          status.st_mtim, status.st_ctim,     isBefore(status.st_mtim, now) && isBefore(status.st_ctim, now)};
}

bool isStill(int parent, const std::string& name, const KnownFile& known) {
  return isStill(parent, name, known, Place::kOwn);
}

void bring(int parent, const std::string& fresh, const std::string& name) {
  const int error = renameToFree(parent, fresh, name);
  if (error == EEXIST) throw Refusal{"would_overwrite", "untracked", "1"};
  errno = error;
  mustWrite(error == 0);
}

void replace(int parent, const std::string& fresh, const std::string& name, const std::string& aside,
             const KnownFile& known) {
  if (!isStill(parent, name, known)) refuseEdited();
  const Stamp ours = stampOf(parent, fresh);
  errno = renameToFree(parent, fresh, aside);
  mustWrite(errno == 0);
  if (renameat2(parent, aside.c_str(), parent, name.c_str(), RENAME_EXCHANGE) != 0) {
    const int error = errno;
    // Where a file system can't exchange, the look above was the last one.
    if (error == EINVAL && renameat(parent, aside.c_str(), parent, name.c_str()) == 0) return;
    unlinkat(parent, aside.c_str(), 0);
    if (error == ENOENT) refuseEdited();
    errno = error;
    mustWrite(false);
  }
  if (isStill(parent, aside, known, Place::kTaken)) return mustWrite(unlinkat(parent, aside.c_str(), 0) == 0);
  if (renameat2(parent, aside.c_str(), parent, name.c_str(), RENAME_EXCHANGE) != 0)
    giveBack(parent, name, aside);
  const bool isOurs = isUntouched(stampOf(parent, aside), ours);
  if (!isOurs || unlinkat(parent, aside.c_str(), 0) != 0) throw Refusal{"would_overwrite", "kept_aside"};
  refuseEdited();
}

void removeKnown(int parent, const std::string& name, const std::string& aside, const KnownFile& known) {
  if (!isStill(parent, name, known)) refuseEdited();
  errno = renameToFree(parent, name, aside);
  if (errno == ENOENT) refuseEdited();
  mustWrite(errno == 0);
  if (!isStill(parent, aside, known, Place::kTaken)) giveBack(parent, name, aside);
  mustWrite(unlinkat(parent, aside.c_str(), 0) == 0);
}

}  // namespace factionos::git
