#include "workers/session/standing.h"

#include <cerrno>
#include <climits>
#include <utility>

#include <fcntl.h>

#include "workers/session/resolve.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

constexpr int kMostLevels = PATH_MAX / 2;  // a path has no more parts

bool areSame(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Standing::Standing(std::string workspace, Mounted mounted)
    : workspace_(std::move(workspace)),
      byName_(mounted == Mounted::kYes || stat(workspace_.c_str(), &identity_) != 0) {}

// Up from `directory`, across mounts, as Landlock goes.
std::optional<std::string> Standing::placed(int directory, std::string path) const {
  if (byName_ || isWithin(path, workspace_)) return path;
  struct stat status {};
  if (fstat(directory, &status) != 0) return std::nullopt;
  sandbox::Fd held;
  std::size_t begin = path.size();  // of what lies below the directory that is looked at
  for (int level = 0; level < kMostLevels; ++level) {
    if (areSame(status, identity_)) return workspace_ + path.substr(begin);
    sandbox::Fd above(openat(held ? held.get() : directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat next {};
    // In a directory that may not be searched the kernel lets nothing come to be.
    if (!above && level == 0 && errno == EACCES) return path;
    if (!above || fstat(above.get(), &next) != 0) return std::nullopt;
    if (areSame(next, status)) return path;  // the root
    const std::size_t slash = begin == 0 ? std::string::npos : path.rfind('/', begin - 1);
    begin = slash == std::string::npos ? 0 : slash;
    status = next;
    held = std::move(above);
  }
  return std::nullopt;
}

std::optional<std::string> Standing::directoryOf(const Location& location) const {
  return placed(location.parent.get(), location.directory);
}

std::optional<std::string> Standing::pathOf(int file) const {
  std::string path = realPath(file);
  struct stat status {};
  if (byName_ || path.empty() || path.front() != '/' || isWithin(path, workspace_) ||
      fstat(file, &status) != 0 || status.st_nlink == 0)
    return path;
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  const std::string above = slash == 0 ? "/" : path.substr(0, slash);
  const sandbox::Fd parent(::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat there {};
  if (!parent || fstatat(parent.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 ||
      !areSame(there, status))
    return std::nullopt;
  const std::optional<std::string> directory = placed(parent.get(), above);
  if (!directory) return std::nullopt;
  return *directory == "/" ? "/" + name : *directory + "/" + name;
}

}  // namespace factionos::session
