#include "workers/session/observer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/session/gofer_policy.h"
#include "workers/session/places.h"
#include "workers/session/resolve.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

constexpr int kMostLinks = 40;

int modeOf(DeniedOperation operation) {
  switch (operation) {
    case DeniedOperation::kRead:
      return R_OK;
    case DeniedOperation::kExecute:
    case DeniedOperation::kEnter:
      return X_OK;
    default:
      return W_OK;
  }
}

std::string pathOf(const Location& location) {
  return location.directory == "/" ? "/" + location.name : location.directory + "/" + location.name;
}

bool isLast(const Location& location, mode_t& mode) {
  struct stat status {};
  if (fstatat(location.parent.get(), location.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  mode = status.st_mode;
  return true;
}

}  // namespace

std::string homeOfUser() {
  const passwd* const user = getpwuid(getuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

Machine Machine::open(const std::string& state, const std::string& home) {
  Machine machine;
  machine.home = home;
  for (const std::string& path : {std::string("/"), machine.home, state}) {
    if (path.empty()) continue;
    const sandbox::Fd handle(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const int number = kFirstLooked + static_cast<int>(machine.trees.size());
    if (handle && dup3(handle.get(), number, O_CLOEXEC) == number)
      machine.trees.push_back({path, sandbox::Fd(number)});
  }
  return machine;
}

bool Machine::has(const std::string& path, int mode) const {
  return std::ranges::any_of(trees, [&path, mode](const Tree& tree) {
    if (!isWithin(path, tree.path)) return false;
    const std::size_t from = tree.path == "/" ? 1 : tree.path.size() + 1;
    const char* const below = from < path.size() ? path.c_str() + from : ".";
    return faccessat(tree.handle.get(), below, mode, 0) == 0;
  });
}

// What lies in a tree that is the command's to read is denied only through links and "..", which have to be
// walked.
bool Observer::isPlain(const std::string& path) const {
  if (path.find("/..") != std::string::npos || isWithin(path, setting_.workspace)) return false;
  return std::ranges::any_of(setting_.open,
                             [&path](const std::string& tree) { return isWithin(path, tree); });
}

// What a relative path leads to is the command's if it lies in its own trees, or in those that it may read.
// What is not there in its own is not there: nobody's denial.
bool Observer::isOpen(int start, const std::string& path) const {
  const auto within = [](const std::vector<std::string>& trees, const std::string& real) {
    return std::ranges::any_of(trees, [&real](const std::string& tree) { return isWithin(real, tree); });
  };
  const sandbox::Fd file(openat(start, path.c_str(), O_PATH | O_CLOEXEC));
  if (file) {
    const std::string real = realPath(file.get());
    return within(setting_.own, real) || within(setting_.open, real);
  }
  if (errno != ENOENT) return false;
  const std::size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const sandbox::Fd parent(openat(start, above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  return parent && !name.empty() && within(setting_.own, realPath(parent.get())) &&
         fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

void Observer::look(DeniedOperation operation, const Caller& caller, sandbox::Fd start,
                    const std::string& path) {
  if (path.empty() || (path.front() == '/' ? isPlain(path) : isOpen(start.get(), path))) return;
  Location location;
  Walk walk(caller);
  const std::string above = path.front() == '/' ? "/" : realPath(start.get());
  int error = walk.from(std::move(start), path, location);
  mode_t mode = 0;
  for (int i = 0; error == 0 && !location.file && i < kMostLinks && isLast(location, mode) && S_ISLNK(mode);
       ++i) {
    const std::string text = pathOf(location);
    error = walk.follow(location);
    // A link that leads out of the mounts: what it says is where it leads.
    std::array<char, PATH_MAX> target;
    if (error != 0) {
      const ssize_t size = readlink(text.c_str(), target.data(), target.size());
      if (size > 0 && target[0] == '/')
        return lookOutside(operation, {target.data(), static_cast<std::size_t>(size)});
    }
  }
  if (error == 0 && !location.file) return lookAt(operation, location);
  // A directory on the way is not there.
  if (error == ENOENT && !above.empty())
    lookOutside(operation, (std::filesystem::path(above) / path).lexically_normal());
}

void Observer::failed(DeniedOperation operation, const Location& location, int error) {
  if (error != EACCES || location.directory.empty()) return;
  // What is made needs the directory's leave, what is there its own.
  mode_t mode = 0;
  const bool there = isLast(location, mode);
  const bool allowed = there ? faccessat(location.parent.get(), location.name.c_str(), W_OK, 0) == 0
                             : faccessat(location.parent.get(), ".", W_OK | X_OK, 0) == 0;
  if (allowed) count(there ? DeniedOperation::kWrite : operation, DenialSource::kLandlock, pathOf(location));
}

void Observer::lookAtPort(std::uint16_t port) {
  if (port != 0 && port == setting_.apiPort)
    setting_.denials.add({DeniedOperation::kConnect, DenialSource::kLandlock, DeniedPlace::kApi, 0});
}

// It is there: do its modes allow what Landlock does not?
void Observer::lookAt(DeniedOperation operation, const Location& location) {
  mode_t mode = 0;
  const std::string path = pathOf(location);
  if (!isLast(location, mode)) return lookOutside(operation, path);
  // What Landlock restricts is neither of these two.
  if (operation == DeniedOperation::kEnter || operation == DeniedOperation::kConnect) return;
  if (!S_ISREG(mode) && !S_ISDIR(mode)) return;  // opening others may wait, or do something
  if (faccessat(location.parent.get(), location.name.c_str(), modeOf(operation), 0) != 0) return;
  const sandbox::Fd file(openat(location.parent.get(), location.name.c_str(),
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file && errno == EACCES) count(operation, DenialSource::kLandlock, path);
}

// It is not there, in the command's mounts: is it on the machine?
void Observer::lookOutside(DeniedOperation operation, const std::string& path) {
  if (!setting_.mounted || isWithin(path, setting_.workspace)) return;
  if (setting_.machine.has(path, modeOf(operation))) count(operation, DenialSource::kNamespace, path);
}

void Observer::count(DeniedOperation operation, DenialSource source, std::string_view path) {
  setting_.denials.add(
      {operation, source, placeOf(path, {setting_.workspace, setting_.state, setting_.machine.home}), 0});
}

}  // namespace factionos::session
