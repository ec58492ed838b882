// Opening, of all calls the one with the most meanings.
#include <cerrno>
#include <ctime>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/session/file_calls.h"
#include "workers/session/resolve.h"

namespace factionos::session {
namespace {

constexpr int kStatusFlags = O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME;  // what F_SETFL sets
constexpr long kLongestWait = 20'000'000;                                // ns

bool isFifo(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISFIFO(status.st_mode);
}

bool isFifo(const Location& location) {
  if (location.file) return isFifo(location.file.get());
  struct stat status {};
  return fstatat(location.parent.get(), location.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISFIFO(status.st_mode);
}

// What the kernel would have made the caller wait for: a lease to be given up, a FIFO to have a reader. A
// socket and a device without a driver answer ENXIO, too, and always will.
bool comesWithTime(int error, const Location& location) {
  return error == EWOULDBLOCK || (error == ENXIO && isFifo(location));
}

int accessMode(int flags) {
  return flags & O_ACCMODE;
}

bool waitsForWriter(const Opening& opening) {
  return accessMode(opening.flags) == O_RDONLY && (opening.flags & O_NONBLOCK) == 0;
}

bool isUnnamed(int flags) {
  return (flags & O_TMPFILE) == O_TMPFILE;
}

bool changes(int flags) {
  return !isUnnamed(flags) && (accessMode(flags) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0);
}

bool isOwnTerminal(const Location& location) {
  return location.directory == "/dev" && location.name == "tty";
}

// What of a caller's flags goes to the kernel: all that a file is opened with, never O_PATH.
Opening grantedOf(const Opening& opening) {
  constexpr int kKnown = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_ASYNC |
                         O_DIRECT | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_TMPFILE;
  constexpr mode_t kPlainModes = 01777;  // who asks for a set-id bit was refused by the number
  return {(opening.flags & kKnown) | O_CLOEXEC | O_NOCTTY, opening.mode & kPlainModes};
}

// Of what is there already.
int withoutMaking(int flags) {
  return isUnnamed(flags) ? flags : flags & ~(O_CREAT | O_EXCL);
}

// The very file, whatever its name leads to by now.
sandbox::Fd reopen(int file, const Opening& opening) {
  const std::string own = "/proc/self/fd/" + std::to_string(file);
  return sandbox::Fd(::open(own.c_str(), withoutMaking(opening.flags) & ~O_NOFOLLOW, opening.mode));
}

sandbox::Fd failedWith(int error) {
  errno = error;
  return {};
}

// What is there under that name. A link is none of what may be opened. O_NOFOLLOW would say the same, but is
// seen in a file's flags ever after: it is used for who asked for it.
sandbox::Fd openThere(const Location& location, const Opening& opening) {
  const sandbox::Fd found(
      openat(location.parent.get(), location.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!found || fstat(found.get(), &status) != 0) return {};
  if (S_ISLNK(status.st_mode)) return failedWith(ELOOP);
  if (S_ISDIR(status.st_mode) && (opening.flags & O_CREAT) != 0) return failedWith(EISDIR);
  const int flags = opening.flags | (location.trailingSlash ? O_DIRECTORY : 0);
  if ((flags & O_NOFOLLOW) == 0) return reopen(found.get(), {flags, opening.mode});
  return sandbox::Fd(
      openat(location.parent.get(), location.name.c_str(), withoutMaking(flags), opening.mode));
}

// O_EXCL follows no link. Made by somebody meanwhile, or gone: once more.
sandbox::Fd openOrMake(const Location& location, const Opening& opening) {
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    sandbox::Fd made(
        openat(location.parent.get(), location.last().c_str(), opening.flags | O_EXCL, opening.mode));
    if (made || errno != EEXIST || (opening.flags & O_EXCL) != 0) return made;
    sandbox::Fd there = openThere(location, opening);
    if (there || errno != ENOENT) return there;
  }
  return failedWith(EAGAIN);
}

sandbox::Fd openFile(const Location& location, const Opening& opening) {
  if (location.file) return reopen(location.file.get(), opening);
  return (opening.flags & O_CREAT) != 0 ? openOrMake(location, opening) : openThere(location, opening);
}

// So that nothing waits: the gofer has others to serve.
sandbox::Fd openNow(const Location& location, const Opening& opening) {
  const Opening granted = grantedOf(opening);
  return openFile(location, {granted.flags | O_NONBLOCK, granted.mode});
}

}  // namespace

bool FileCalls::waitAWhile(long& wait, int reader) {
  pollfd writer{reader, POLLIN, 0};
  const timespec time{0, wait};
  wait = std::min(wait * 2, kLongestWait);
  return ppoll(&writer, 1, &time, nullptr) == 1;
}

// As open(2) does, until somebody has opened the FIFO for writing since `reader` was, or had it open before,
// be it gone again or not. 0 or an errno. `reader` stays open all the while: a writer whose open() was
// answered must not find it left. poll(2) says POLLHUP where a writer came and went, and not where none came;
// of one who is there and writes nothing it says nothing, but tee(2) does: EAGAIN in place of 0. What that
// copies stays where it is.
int FileCalls::waitForWriter(const Caller& caller, int reader) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  const sandbox::Pipe peeked{sandbox::Fd(ends[0]), sandbox::Fd(ends[1])};
  for (long wait = kFirstWait; caller.isValid();) {
    if (tee(reader, peeked.write.get(), 1, SPLICE_F_NONBLOCK) != 0) return 0;
    if (waitAWhile(wait, reader)) return 0;
  }
  return ESRCH;
}

void FileCalls::open(const Caller& caller, int directory, unsigned path, Opening opening) {
  std::string text;
  Location location;
  Walk walk(caller);
  constexpr int kContrary = O_CREAT | O_DIRECTORY;
  int error = (opening.flags & kContrary) == kContrary ? EINVAL : caller.path(path, text);
  if (error == 0) error = walk.to(directory, text, location);
  if (error != 0) return setting_.listener.fail(caller.call().id, error);
  openHere(caller, walk, location, opening);
}

// The last part again and again while it is a link that may be followed: each target is judged by its own
// name.
void FileCalls::openHere(const Caller& caller, Walk& walk, Location& location, Opening opening) {
  while (true) {
    if (isOwnTerminal(location)) return openTerminal(caller, opening);
    Opening granted = opening;
    if (!mayOpen(caller, location, granted)) return;
    if ((granted.flags & (O_CREAT | O_TMPFILE)) != 0) takeMask(caller);
    // It is opened by nobody but who keeps it open then.
    if (waitsForWriter(granted) && isFifo(location)) return openLater(caller, location, granted);
    sandbox::Fd file = openNow(location, granted);
    if (file) return give(caller, std::move(file), granted, Giver::kGofer);
    const int error = errno;
    if ((granted.flags & O_NONBLOCK) == 0 && comesWithTime(error, location))
      return openLater(caller, location, granted);
    if (error != ELOOP || (opening.flags & O_NOFOLLOW) != 0 || location.file) {
      errno = error;
      return finish(caller,
                    (opening.flags & O_CREAT) != 0 ? DeniedOperation::kCreate : DeniedOperation::kWrite,
                    location, -1);
    }
    if (const int followed = walk.follow(location); followed != 0)
      return setting_.listener.fail(caller.call().id, followed);
  }
}

// Reading a protected file that is there is no change, whatever else the flags would have done.
bool FileCalls::mayOpen(const Caller& caller, const Location& location, Opening& opening) {
  if (!changes(opening.flags)) return true;
  if (location.file) {
    if ((opening.flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
      setting_.listener.fail(caller.call().id, EEXIST);
      return false;
    }
    const std::optional<Refusal> refusal = judge(location.file.get(), Change::kMake);
    if (refusal) refuse(caller, *refusal);
    return !refusal;
  }
  if (location.name == "." || location.name == "..") return true;
  std::optional<Refusal> refusal = judge(location, Change::kMake);
  if (!refusal) return true;
  struct stat status {};
  const bool there = fstatat(location.parent.get(), location.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  const bool missing = !there && errno == ENOENT;
  const bool exclusive = (opening.flags & O_EXCL) != 0;
  if (there && !exclusive && accessMode(opening.flags) == O_RDONLY && (opening.flags & O_TRUNC) == 0) {
    opening.flags &= ~O_CREAT;
    return true;
  }
  // Nobody's denial, and said here: in the next moment it may be there.
  if ((opening.flags & O_CREAT) == 0 && (missing || (there && S_ISDIR(status.st_mode)))) {
    setting_.listener.fail(caller.call().id, missing ? ENOENT : EISDIR);
    return false;
  }
  if (there && !S_ISLNK(status.st_mode)) refusal->denial.operation = DeniedOperation::kWrite;
  if (there && exclusive && (opening.flags & O_CREAT) != 0) {
    setting_.listener.fail(caller.call().id, EEXIST);
  } else {
    refuse(caller, *refusal);
  }
  return false;
}

// The gofer itself has closed a file before it hears of the next call, who waits beside it has not.
void FileCalls::give(const Caller& caller, sandbox::Fd file, const Opening& opening, Giver giver) const {
  if ((opening.flags & O_NONBLOCK) == 0) fcntl(file.get(), F_SETFL, opening.flags & kStatusFlags);
  const auto onExec = (opening.flags & O_CLOEXEC) != 0 ? sandbox::OnExec::kClose : sandbox::OnExec::kKeepOpen;
  if (giver == Giver::kGofer) return setting_.listener.give(caller.call().id, file.get(), onExec);
  setting_.listener.giveAway(caller.call().id, std::move(file), onExec);
}

// /dev/tty is another file to each session of processes; this process is in none that has one.
void FileCalls::openTerminal(const Caller& caller, const Opening& opening) {
  constexpr int kExclusive = O_CREAT | O_EXCL;
  if ((opening.flags & kExclusive) == kExclusive) return setting_.listener.fail(caller.call().id, EEXIST);
  // In a terminal no file is made; this process may not even ask for it (gofer_policy.cpp).
  if ((opening.flags & (O_TMPFILE & ~O_DIRECTORY)) != 0)
    return setting_.listener.fail(caller.call().id, (opening.flags & O_DIRECTORY) != 0 ? ENOTDIR : EINVAL);
  const pid_t session = getsid(caller.process());
  if (session != setting_.leader || !caller.isValid()) return setting_.listener.fail(caller.call().id, ENXIO);
  sandbox::Fd file(::open(setting_.terminal.c_str(), (opening.flags & ~kExclusive) | O_CLOEXEC | O_NOCTTY));
  if (!file) return setting_.listener.fail(caller.call().id, errno);
  give(caller, std::move(file), opening, Giver::kGofer);
}

// A FIFO without a reader or a writer, a file under a lease: another process waits, as the caller would.
void FileCalls::openLater(const Caller& caller, Location& location, const Opening& opening) const {
  // What was found is waited for, whatever its name is or leads to meanwhile.
  if (!location.file)
    location.file.reset(
        openat(location.parent.get(), location.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const pid_t child = forkWaiting();
  if (child > 0) return;
  if (child < 0) return setting_.listener.fail(caller.call().id, errno);
  sandbox::Fd file;
  int error = ESRCH;
  for (long wait = kFirstWait; caller.isValid(); waitAWhile(wait)) {
    file = openNow(location, opening);
    error = file ? 0 : errno;
    if (!comesWithTime(error, location)) break;
  }
  if (error == 0 && waitsForWriter(opening) && isFifo(file.get())) error = waitForWriter(caller, file.get());
  if (error == 0) {
    give(caller, std::move(file), opening, Giver::kWaiting);
  } else {
    setting_.listener.fail(caller.call().id, error);
  }
  _exit(0);
}

}  // namespace factionos::session
