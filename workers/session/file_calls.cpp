#include "workers/session/file_calls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "workers/session/resolve.h"

namespace factionos::session {
namespace {

bool isDots(const std::string& name) {
  return name == "." || name == "..";
}

bool isRegular(int file) {
  struct stat status {};
  errno = 0;
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

bool exists(const Location& location) {
  struct stat status {};
  return fstatat(location.parent.get(), location.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool isLink(const Location& location) {
  struct stat status {};
  return !location.file &&
         fstatat(location.parent.get(), location.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode);
}

// This process has the session's limit of a file's size, the caller may have given itself a lower one.
bool isBeyond(const Caller& caller, int file, off_t size) {
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || size <= status.st_size) return false;
  return static_cast<std::uint64_t>(size) > caller.largestFile();
}

}  // namespace

bool FileCalls::handle(const sandbox::Notification& call) {
  const Caller caller(setting_.listener, call);
  const auto number = [&caller](unsigned argument) { return caller.number(argument); };
  const auto mode = [&call](unsigned argument) { return static_cast<mode_t>(call.arguments[argument]); };
  switch (call.number) {
    case SYS_openat:
      open(caller, number(0), 1, {number(2), mode(3)});
      return true;
    case SYS_mkdirat:
      makeDirectory(caller, number(0), 1, mode(2));
      return true;
    case SYS_mknodat:
      makeNode(caller, number(0), 1, mode(2), static_cast<dev_t>(number(3)));
      return true;
    case SYS_symlinkat:
      makeLink(caller, 0, number(1), 2);
      return true;
    case SYS_linkat:
      makeAlias(caller, number(0), 1, number(2), 3, number(4));
      return true;
    case SYS_renameat2:
      move(caller, number(0), 1, number(2), 3, static_cast<unsigned>(number(4)));
      return true;
    case SYS_unlinkat:
      remove(caller, number(0), 1, number(2));
      return true;
    case SYS_truncate:
      truncate(caller);
      return true;
    case SYS_bind:
      bind(caller);
      return true;
    case SYS_umask:
      masks_.changed();
      setting_.listener.letGoOn(call.id);  // its argument is a number: what goes on is what was heard of
      return true;
#ifdef SYS_renameat
    case SYS_renameat:
      move(caller, number(0), 1, number(2), 3, 0);
      return true;
#endif
#ifdef SYS_open
    case SYS_open:
      open(caller, AT_FDCWD, 0, {number(1), mode(2)});
      return true;
    case SYS_creat:
      open(caller, AT_FDCWD, 0, {O_CREAT | O_WRONLY | O_TRUNC, mode(1)});
      return true;
    case SYS_mkdir:
      makeDirectory(caller, AT_FDCWD, 0, mode(1));
      return true;
    case SYS_mknod:
      makeNode(caller, AT_FDCWD, 0, mode(1), static_cast<dev_t>(number(2)));
      return true;
    case SYS_symlink:
      makeLink(caller, 0, AT_FDCWD, 1);
      return true;
    case SYS_link:
      makeAlias(caller, AT_FDCWD, 0, AT_FDCWD, 1, 0);
      return true;
    case SYS_rename:
      move(caller, AT_FDCWD, 0, AT_FDCWD, 1, 0);
      return true;
    case SYS_unlink:
      remove(caller, AT_FDCWD, 0, 0);
      return true;
    case SYS_rmdir:
      remove(caller, AT_FDCWD, 0, AT_REMOVEDIR);
      return true;
#endif
    default:
      return false;
  }
}

// ---- What all have in common

int FileCalls::resolve(const Caller& caller, int directory, unsigned path, Location& location) {
  std::string text;
  if (const int error = caller.path(path, text); error != 0) return error;
  return Walk(caller).to(directory, text, location);
}

void FileCalls::refuse(const Caller& caller, const Refusal& refusal) const {
  setting_.denials.add(refusal.denial);
  setting_.listener.fail(caller.call().id, refusal.error);
}

std::optional<Refusal> FileCalls::judge(const Location& location, Change change) const {
  const std::optional<std::string> directory = setting_.standing.directoryOf(location);
  return directory ? setting_.names.judge(*directory, location.name, change) : GuardedNames::lost(change);
}

std::optional<Refusal> FileCalls::judge(int file, Change change) const {
  const std::optional<std::string> path = setting_.standing.pathOf(file);
  return path ? setting_.names.judge(*path, change) : GuardedNames::lost(change);
}

// A link comes by itself, or in a directory.
bool FileCalls::mayBringLinks(const Location& from) const {
  struct stat status {};
  return fstatat(from.parent.get(), from.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         (S_ISLNK(status.st_mode) || S_ISDIR(status.st_mode));
}

Change FileCalls::bringing(const Location& from) const {
  const std::optional<std::string> directory = setting_.standing.directoryOf(from);
  const bool isOfGit = directory && setting_.names.isOfGit(*directory, from.name);
  if (isOfGit) return setting_.names.bringing(*directory, from.name);
  return mayBringLinks(from) ? Change::kLink : Change::kBring;
}

bool FileCalls::isRefused(const Caller& caller, const Location& location, Change change, bool exclusive) {
  if (isDots(location.name)) return false;  // the kernel makes, moves and removes nothing by these
  const std::optional<Refusal> refusal = judge(location, change);
  if (!refusal) return false;
  // What is there is there: mkdir -p goes on.
  if (exclusive && exists(location)) {
    setting_.listener.fail(caller.call().id, EEXIST);
  } else {
    refuse(caller, *refusal);
  }
  return true;
}

void FileCalls::finish(const Caller& caller, DeniedOperation operation, const Location& location,
                       long result) {
  if (result >= 0) return setting_.listener.succeed(caller.call().id, result);
  const int error = errno;
  setting_.listener.fail(caller.call().id, error);
  setting_.failures.failed(operation, location, error);
}

// As the kernel does it for the caller: a default ACL of the directory counts instead, where there is one.
void FileCalls::takeMask(const Caller& caller) {
  const mode_t wanted = masks_.of(caller);
  if (wanted == taken_) return;
  umask(wanted);
  taken_ = wanted;
}

// ---- Names

void FileCalls::makeDirectory(const Caller& caller, int directory, unsigned path, mode_t mode) {
  Location location;
  if (const int error = resolve(caller, directory, path, location); error != 0)
    return setting_.listener.fail(caller.call().id, error);
  if (isRefused(caller, location, Change::kMakeDirectory, true)) return;
  takeMask(caller);
  finish(caller, DeniedOperation::kCreate, location,
         mkdirat(location.parent.get(), location.last().c_str(), mode));
}

void FileCalls::makeNode(const Caller& caller, int directory, unsigned path, mode_t mode, dev_t device) {
  Location location;
  if (const int error = resolve(caller, directory, path, location); error != 0)
    return setting_.listener.fail(caller.call().id, error);
  if (isRefused(caller, location, Change::kMake, true)) return;
  takeMask(caller);
  finish(caller, DeniedOperation::kCreate, location,
         mknodat(location.parent.get(), location.last().c_str(), mode, device));
}

void FileCalls::makeLink(const Caller& caller, unsigned text, int directory, unsigned path) {
  std::string target;
  Location location;
  int error = caller.path(text, target);
  if (error == 0) error = resolve(caller, directory, path, location);
  if (error != 0) return setting_.listener.fail(caller.call().id, error);
  if (isRefused(caller, location, Change::kLink, true)) return;
  finish(caller, DeniedOperation::kCreate, location,
         symlinkat(target.c_str(), location.parent.get(), location.last().c_str()));
}

// A second name is a way to write to the first, and a protected name is one that may not come to be.
void FileCalls::makeAlias(const Caller& caller, int from, unsigned fromPath, int to, unsigned toPath,
                          int flags) {
  if ((flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0)
    return setting_.listener.fail(caller.call().id, EINVAL);
  Location source;
  Location location;
  std::string text;
  Walk walk(caller);
  int error = caller.path(fromPath, text);
  const bool itself = text.empty() && (flags & AT_EMPTY_PATH) != 0;
  if (error == 0) error = itself ? caller.file(from, source.file) : walk.to(from, text, source);
  while (error == 0 && (flags & AT_SYMLINK_FOLLOW) != 0 && isLink(source)) error = walk.follow(source);
  if (error == 0) error = resolve(caller, to, toPath, location);
  if (error != 0) return setting_.listener.fail(caller.call().id, error);
  if (isRefused(caller, location, Change::kMake, true)) return;
  if (source.file) {
    if (const auto refusal = judge(source.file.get(), Change::kAlias)) return refuse(caller, *refusal);
    const std::string own = "/proc/self/fd/" + std::to_string(source.file.get());
    return finish(
        caller, DeniedOperation::kCreate, location,
        linkat(AT_FDCWD, own.c_str(), location.parent.get(), location.last().c_str(), AT_SYMLINK_FOLLOW));
  }
  if (isRefused(caller, source, Change::kAlias, false)) return;
  if (mayBringLinks(source) && isRefused(caller, location, Change::kLink, true)) return;
  finish(
      caller, DeniedOperation::kCreate, location,
      linkat(source.parent.get(), source.last().c_str(), location.parent.get(), location.last().c_str(), 0));
}

void FileCalls::move(const Caller& caller, int from, unsigned fromPath, int to, unsigned toPath,
                     unsigned flags) {
  Location source;
  Location location;
  int error = resolve(caller, from, fromPath, source);
  if (error == 0) error = resolve(caller, to, toPath, location);
  if (error != 0) return setting_.listener.fail(caller.call().id, error);
  if (isRefused(caller, source, Change::kRemove, false) ||
      isRefused(caller, location, bringing(source), false))
    return;
  if ((flags & RENAME_EXCHANGE) != 0 && isRefused(caller, source, bringing(location), false)) return;
  finish(caller, DeniedOperation::kCreate, location,
         syscall(SYS_renameat2, source.parent.get(), source.last().c_str(), location.parent.get(),
                 location.last().c_str(), flags));
}

void FileCalls::remove(const Caller& caller, int directory, unsigned path, int flags) {
  Location location;
  if (const int error = resolve(caller, directory, path, location); error != 0)
    return setting_.listener.fail(caller.call().id, error);
  if (exists(location) && isRefused(caller, location, Change::kRemove, false)) return;
  finish(caller, DeniedOperation::kWrite, location,
         unlinkat(location.parent.get(), location.last().c_str(), flags));
}

void FileCalls::truncate(const Caller& caller) {
  std::string text;
  Location location;
  Walk walk(caller);
  int error = caller.path(0, text);
  if (error == 0) error = walk.to(AT_FDCWD, text, location);
  while (error == 0 && isLink(location)) error = walk.follow(location);
  if (error != 0) return setting_.listener.fail(caller.call().id, error);
  if (!location.file) {
    if (isRefused(caller, location, Change::kMake, false)) return;
    location.file.reset(
        openat(location.parent.get(), location.last().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!location.file) return setting_.listener.fail(caller.call().id, errno);
  } else if (const auto refusal = judge(location.file.get(), Change::kMake)) {
    return refuse(caller, *refusal);
  }
  const std::string own = "/proc/self/fd/" + std::to_string(location.file.get());
  const auto size = static_cast<off_t>(caller.call().arguments[1]);
  if (isBeyond(caller, location.file.get(), size)) return setting_.listener.fail(caller.call().id, EFBIG);
  // A lease on the file makes truncate(2) wait, 45 seconds if its holder likes. While this process has it
  // open for writing nobody gets one.
  const sandbox::Fd held(
      isRegular(location.file.get()) ? ::open(own.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1);
  if (!held && errno == EWOULDBLOCK) return truncateLater(caller, own, size);
  finish(caller, DeniedOperation::kWrite, location, syscall(SYS_truncate, own.c_str(), size));
}

pid_t FileCalls::forkWaiting() const {
  const pid_t child = _Fork();
  if (child == 0) close(setting_.line);
  return child;
}

// Another process waits, as the caller would, and for as long as that is there: nobody is truncated for who
// has died.
void FileCalls::truncateLater(const Caller& caller, const std::string& path, off_t size) const {
  const pid_t child = forkWaiting();
  if (child > 0) return;
  if (child < 0) return setting_.listener.fail(caller.call().id, errno);
  int error = EWOULDBLOCK;
  for (long wait = kFirstWait; error == EWOULDBLOCK && caller.isValid(); waitAWhile(wait)) {
    const sandbox::Fd file(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    error = file && ftruncate(file.get(), size) == 0 ? 0 : errno;
  }
  if (error == 0) {
    setting_.listener.succeed(caller.call().id, 0);
  } else {
    setting_.listener.fail(caller.call().id, error);
  }
  _exit(0);
}

// Of a socket of the unix family the path is taken apart as any other; all other addresses are what they are.
void FileCalls::bind(const Caller& caller) {
  SocketAddress address;
  sandbox::Fd socket;
  int error = caller.address(1, 2, address);
  if (error == 0) error = caller.socket(caller.number(0), socket);
  if (error != 0) return setting_.listener.fail(caller.call().id, error);

  const std::optional<std::string> path = address.path();
  Location location;
  if (!path) {
    const int result = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address.bytes),
                              static_cast<socklen_t>(address.size));
    return finish(caller, DeniedOperation::kConnect, location, result);
  }
  error = Walk(caller).to(AT_FDCWD, *path, location);
  if (error != 0) return setting_.listener.fail(caller.call().id, error);
  if (isRefused(caller, location, Change::kMake, false)) return;
  takeMask(caller);
  // By its last part alone, so that its room suffices.
  sockaddr_un last{};
  last.sun_family = AF_UNIX;
  location.last().copy(last.sun_path, sizeof last.sun_path - 1);
  if (fchdir(location.parent.get()) != 0) return setting_.listener.fail(caller.call().id, errno);
  const int result = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&last), sizeof last);
  const int failed = errno;
  if (chdir("/") != 0) return setting_.listener.fail(caller.call().id, errno);
  errno = failed;
  finish(caller, DeniedOperation::kCreate, location, result);
}

}  // namespace factionos::session
