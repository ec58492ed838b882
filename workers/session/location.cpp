#include "workers/session/location.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "workers/session/resolve.h"

namespace factionos::session {
namespace {

constexpr int kMostLinks = 40;  // the kernel's
constexpr std::string_view kProc = "/proc";

sandbox::Fd openPath(int directory, const std::string& path, int flags) {
  return sandbox::Fd(openat(directory, path.c_str(), flags | O_PATH | O_CLOEXEC));
}

sandbox::Fd root() {
  return openPath(AT_FDCWD, "/", O_DIRECTORY);
}

bool isLink(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISLNK(status.st_mode);
}

bool isOfProc(int file) {
  struct statfs status {};
  return fstatfs(file, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

bool isNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Of a real path below /proc: the process that it is about; 0 if none.
pid_t processOf(const std::string& path) {
  if (!path.starts_with("/proc/")) return 0;
  const std::string_view rest = std::string_view(path).substr(kProc.size() + 1);
  const std::string_view first = rest.substr(0, rest.find('/'));
  return isNumber(first) ? static_cast<pid_t>(std::stol(std::string(first))) : 0;
}

}  // namespace

int Walk::to(int directory, const std::string& path, Location& location) {
  sandbox::Fd start;
  if (!path.empty() && path.front() != '/') {
    if (const int error = caller_.start(directory, start); error != 0) return error;
  }
  return from(std::move(start), path, location);
}

int Walk::from(sandbox::Fd start, const std::string& path, Location& location) {
  if (path.empty()) return ENOENT;
  if (path.front() == '/') start = root();
  return start ? settle(std::move(start), path, location) : errno;
}

int Walk::settle(sandbox::Fd start, std::string path, Location& location) {
  location.trailingSlash = path.ends_with('/');
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  location.name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (location.name.empty()) location.name = ".";  // the root
  const std::string_view above =
      slash == std::string::npos ? std::string_view() : std::string_view(path).substr(0, slash);
  if (const int error = parentOf(std::move(start), above, location.parent); error != 0) return error;
  location.directory = realPath(location.parent.get());
  location.file.reset();
  // Removed meanwhile, or so deep that nobody could say what lies there.
  if (location.directory.empty()) return ENOENT;
  // The kernel lets this process see of itself what it would not let the caller see.
  return processOf(location.directory) == getpid() ? EACCES : 0;
}

// The kernel walks where no link is in the way, which is nearly always; whether there was one is seen by
// where it came to. What failed may have failed by a link that leads a caller elsewhere. (openat2() could
// keep from following: gofer_policy.cpp has why it is not ours.)
int Walk::parentOf(sandbox::Fd start, std::string_view path, sandbox::Fd& parent) {
  std::string rest(path);
  rest.erase(0, rest.find_first_not_of('/') == std::string::npos ? rest.size() : rest.find_first_not_of('/'));
  if (rest.empty()) {
    parent = std::move(start);
    return 0;
  }
  parent = openPath(start.get(), rest, O_DIRECTORY);
  if (parent && ledByNames(start.get(), rest, parent.get())) return 0;
  while (!rest.empty()) {
    if (const int error = step(start, rest); error != 0) return error;
  }
  parent = std::move(start);
  return 0;
}

// One part of `rest` from `at`, which is a directory in the end.
int Walk::step(sandbox::Fd& at, std::string& rest) {
  const std::size_t slash = rest.find('/');
  const std::string part = rest.substr(0, slash);
  rest.erase(0, slash == std::string::npos ? rest.size() : slash + 1);
  if (part.empty() || part == ".") return 0;
  sandbox::Fd next = openPath(at.get(), part, O_NOFOLLOW);
  if (!next) return errno;
  if (isLink(next.get())) return stepOverLink(at, part, rest);
  next = openPath(next.get(), ".", O_DIRECTORY);
  if (!next) return errno;
  at = std::move(next);
  return 0;
}

int Walk::stepOverLink(sandbox::Fd& at, const std::string& part, std::string& rest) {
  sandbox::Fd magic;
  std::string text;
  if (const int error = readLink(at.get(), part, magic, text); error != 0) return error;
  if (magic) {
    at = openPath(magic.get(), ".", O_DIRECTORY);
    return at ? 0 : errno;
  }
  if (text.front() == '/') at = root();
  rest = rest.empty() ? text : text + "/" + rest;
  return rest.size() < PATH_MAX ? 0 : ENAMETOOLONG;
}

int Walk::follow(Location& location) {
  sandbox::Fd magic;
  std::string text;
  if (const int error = readLink(location.parent.get(), location.name, magic, text); error != 0) return error;
  if (magic) {
    location.file = std::move(magic);
    return 0;
  }
  sandbox::Fd start = text.front() == '/' ? root() : std::move(location.parent);
  return settle(std::move(start), text, location);
}

// Links of /proc that name a process mean the caller; those that are no text are followed by the kernel, if
// they are not about this process, which the caller could not follow.
int Walk::readLink(int parent, const std::string& name, sandbox::Fd& magic, std::string& text) {
  if (++links_ > kMostLinks) return ELOOP;
  std::array<char, PATH_MAX> space;
  const ssize_t size = readlinkat(parent, name.c_str(), space.data(), space.size());
  if (size < 0) return errno;
  text.assign(space.data(), static_cast<std::size_t>(size));
  if (isOfProc(parent)) {
    const std::string directory = realPath(parent);
    if (directory == kProc && name == "self") {
      text = std::to_string(caller_.process());
    } else if (directory == kProc && name == "thread-self") {
      text = std::to_string(caller_.process()) + "/task/" + std::to_string(caller_.thread());
    } else if (const pid_t process = processOf(directory); process != 0) {
      if (process == getpid()) return EACCES;
      magic = openPath(parent, name, 0);
      return magic ? 0 : errno;
    } else if (directory != kProc) {
      return EACCES;  // of a file system of processes that has another root
    }
  }
  return text.empty() ? ENOENT : 0;
}

}  // namespace factionos::session
