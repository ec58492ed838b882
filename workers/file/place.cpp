#include "workers/file/place.h"

#include <array>
#include <cerrno>
#include <climits>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "workers/file/protected.h"

namespace factionos::file {
namespace {

constexpr int kMostLinks = 40;  // as the kernel's own limit

using Names = std::vector<std::string>;  // the next one last

void pushNames(Names& names, std::string_view path) {
  Names added;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (!name.empty() && name != ".") added.emplace_back(name);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  names.insert(names.end(), added.rbegin(), added.rend());
}

// One directory further down, made if need be.
sandbox::Fd descend(int directory, const std::string& name, Parents parents) {
  constexpr int kDirectory = O_RDONLY | O_DIRECTORY;
  sandbox::Fd next = openHere(directory, name, kDirectory);
  if (next || errno != ENOENT || parents == Parents::kMustExist) return next;
  if (mkdirat(directory, name.c_str(), 0755) != 0 && errno != EEXIST) return {};
  next = openHere(directory, name, kDirectory);
  // The process's umask is for its own files, not for its user's.
  if (next && fchmod(next.get(), 0755) != 0) return {};
  return next;
}

// A link where a directory is wanted answers as no directory.
Denied refusedStep(int directory, const std::string& name, int error) {
  struct stat status {};
  const bool link = error == ENOTDIR && fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISLNK(status.st_mode);
  return link ? denials::kSymlink : denialOf(error);
}

// A walk that follows links, but no further up than it came down.
class Walk {
 public:
  Walk(int workspace, std::string_view path, bool lastLinkToo) : lastLinkToo_(lastLinkToo) {
    trail_.push_back(openHere(workspace, ".", O_PATH | O_DIRECTORY));
    pushNames(names_, path);
  }

  // The object at the end, as a handle; `name()` in `directory()` is it, unless the path ended on a directory
  // of the walk itself.
  Or<sandbox::Fd> run() {
    if (!trail_.back()) return denialOf(errno);
    while (!names_.empty()) {
      name_ = std::move(names_.back());
      names_.pop_back();
      if (name_ == "..") {
        if (trail_.size() == 1) return denials::kOutside;
        trail_.pop_back();
        continue;
      }
      // By its own name, or by a link's.
      if (trail_.size() == 1 && isOwn(name_)) return denials::kProtected;
      auto handle = openHere(directory(), name_, O_PATH);
      if (!handle) return denialOf(errno);
      struct stat status {};
      if (fstat(handle.get(), &status) != 0) return denialOf(errno);
      if (S_ISLNK(status.st_mode) && (lastLinkToo_ || !names_.empty())) {
        if (const Denied* denied = follow(handle.get())) return *denied;
        continue;
      }
      if (names_.empty()) return handle;
      if (!S_ISDIR(status.st_mode)) return denials::kNotDirectory;
      if (trail_.size() > kDeepest) return denials::kBadPath;
      trail_.push_back(std::move(handle));
    }
    name_ = ".";
    auto itself = openHere(directory(), name_, O_PATH | O_DIRECTORY);
    if (!itself) return denialOf(errno);
    return itself;
  }
  [[nodiscard]] int directory() const { return trail_.back().get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  const Denied* follow(int link) {
    if (++links_ > kMostLinks) return &denials::kSymlink;
    std::array<char, PATH_MAX> target{};
    const ssize_t size = readlinkat(link, "", target.data(), target.size());
    if (size <= 0 || static_cast<std::size_t>(size) == target.size()) return &denials::kSymlink;
    const std::string_view text(target.data(), static_cast<std::size_t>(size));
    if (text.front() == '/') return &denials::kOutside;
    pushNames(names_, text);
    if (names_.size() > kDeepest) return &denials::kBadPath;
    return nullptr;
  }

  bool lastLinkToo_;
  std::vector<sandbox::Fd> trail_;  // from the workspace down to where the walk is
  Names names_;
  std::string name_ = ".";
  int links_ = 0;
};

}  // namespace

Denied denialOf(int error) {
  switch (error) {
    case ENOENT:
      return denials::kNotFound;
    case ELOOP:
      return denials::kSymlink;
    case ENOTDIR:
      return denials::kNotDirectory;
    case EISDIR:
    case ENXIO:
    case ENODEV:
      return denials::kNotFile;
    case EACCES:
    case EPERM:
    case EROFS:
      return denials::kNoAccess;
    case ENAMETOOLONG:
      return denials::kBadPath;
    case EFBIG:
      return denials::kTooLarge;
    case ENOSPC:
    case EDQUOT:
      return denials::kNoSpace;
    default:
      return denials::kFailed;
  }
}

bool isPlainPath(std::string_view path) {
  if (path.empty() || path.size() > kLongestPath || path.find('\0') != std::string_view::npos) return false;
  for (std::size_t depth = 1; depth <= kDeepest; ++depth) {
    const std::size_t end = path.find('/');
    const std::string_view name = path.substr(0, end);
    if (name.empty() || name == "." || name == ".." || name.size() > kLongestName) return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
  return false;
}

Or<Place> placeOf(int workspace, std::string_view path, Parents parents) {
  Place place;
  place.directory = openHere(workspace, ".", O_RDONLY | O_DIRECTORY);
  if (!place.directory) return denialOf(errno);
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    const std::string name(path.substr(0, slash));
    sandbox::Fd next = descend(place.directory.get(), name, parents);
    if (!next) return refusedStep(place.directory.get(), name, errno);
    place.directory = std::move(next);
    path.remove_prefix(slash + 1);
  }
  place.name = path;
  return place;
}

Or<sandbox::Fd> openToRead(int workspace, std::string_view path) {
  Walk walk(workspace, path, true);
  const auto found = walk.run();
  if (const Denied* denied = deniedIn(found)) return *denied;
  struct stat status {};
  if (fstat(std::get<sandbox::Fd>(found).get(), &status) != 0) return denialOf(errno);
  const bool directory = S_ISDIR(status.st_mode);
  if (!directory && !S_ISREG(status.st_mode)) return denials::kNotFile;
  // A handle can't be opened anew without /proc, so the name is, and what it gives is compared: O_NONBLOCK
  // for whatever has taken its place meanwhile.
  auto opened = openHere(walk.directory(), walk.name(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!opened) return denialOf(errno);
  struct stat after {};
  if (fstat(opened.get(), &after) != 0) return denialOf(errno);
  if (after.st_dev != status.st_dev || after.st_ino != status.st_ino) return denials::kChanged;
  return opened;
}

Or<struct stat> statusOf(int workspace, std::string_view path) {
  Walk walk(workspace, path, false);
  const auto found = walk.run();
  if (const Denied* denied = deniedIn(found)) return *denied;
  struct stat status {};
  if (fstat(std::get<sandbox::Fd>(found).get(), &status) != 0) return denialOf(errno);
  return status;
}

sandbox::Fd openHere(int directory, const std::string& name, int flags, mode_t mode) {
  return sandbox::Fd(openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
}

}  // namespace factionos::file
