#include "workers/file/reading.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>

#include "workers/file/protected.h"

namespace factionos::file {
namespace {

// Empty is the workspace itself.
const Denied* refusal(std::string_view path) {
  if (!path.empty() && !isPlainPath(path)) return &denials::kBadPath;
  return isOwn(path) ? &denials::kProtected : nullptr;
}

// The `most` smallest names greater than `after`, whatever the directory's size.
class Smallest {
 public:
  explicit Smallest(std::size_t most) : most_(most) {}
  void add(std::string name) {
    if (names_.size() == most_ && name >= names_.front()) return;
    names_.push_back(std::move(name));
    std::ranges::push_heap(names_);
    if (names_.size() <= most_) return;
    std::ranges::pop_heap(names_);
    names_.pop_back();
  }
  std::vector<std::string> sorted() {
    std::ranges::sort(names_);
    return std::move(names_);
  }

 private:
  std::size_t most_;
  std::vector<std::string> names_;
};

}  // namespace

Or<Listing> listDirectory(int workspace, std::string_view path, std::string_view after, std::size_t limit) {
  if (const Denied* denied = refusal(path)) return *denied;
  limit = std::clamp<std::size_t>(limit, 1, kMostEntries);
  auto opened = openToRead(workspace, path);
  if (const Denied* denied = deniedIn(opened)) return *denied;
  auto& directory = std::get<sandbox::Fd>(opened);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(directory.get()), closedir);
  if (!stream) return denialOf(errno);
  const int handle = directory.release();  // the stream's now
  Smallest smallest(limit + 1);
  while (const dirent* each = readdir(stream.get())) {
    const std::string_view name = each->d_name;
    if (name == "." || name == ".." || name <= after || (path.empty() && isOwn(name))) continue;
    smallest.add(std::string(name));
  }
  Listing listing;
  for (std::string& name : smallest.sorted()) {
    if (listing.entries.size() == limit) {
      listing.more = true;
      break;
    }
    struct stat status {};
    // Gone since it was listed, or not ours to look at.
    if (fstatat(handle, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    listing.entries.push_back({.name = std::move(name), .state = stateOf(status)});
  }
  return listing;
}

Or<FileState> lookAt(int workspace, std::string_view path) {
  if (const Denied* denied = refusal(path)) return *denied;
  const auto found = statusOf(workspace, path);
  if (const Denied* denied = deniedIn(found)) {
    if (denied->code == denials::kNotFound.code) return FileState{};
    return *denied;
  }
  FileState state = stateOf(std::get<struct stat>(found));
  if (state.kind != Kind::kFile || state.size > kLargestHashed) return state;
  const auto opened = openToRead(workspace, path);
  // That it may not be read does not keep it from being looked at.
  if (const auto* file = std::get_if<sandbox::Fd>(&opened)) {
    state.sha = shaOf(file->get());
    state.attributes = attributesOf(file->get());
  }
  return state;
}

Or<Piece> readPiece(int workspace, std::string_view path, std::uint64_t offset, std::size_t length) {
  if (const Denied* denied = refusal(path)) return *denied;
  if (length > kLongestRead || offset > static_cast<std::uint64_t>(INT64_MAX) - length)
    return denials::kBadRequest;
  const auto opened = openToRead(workspace, path);
  if (const Denied* denied = deniedIn(opened)) return *denied;
  const int file = std::get<sandbox::Fd>(opened).get();
  struct stat status {};
  if (fstat(file, &status) != 0) return denialOf(errno);
  if (!S_ISREG(status.st_mode)) return denials::kNotFile;
  auto content = readSome(file, offset, length);
  if (const Denied* denied = deniedIn(content)) return *denied;
  return Piece{.content = std::move(std::get<std::string>(content)), .state = stateOf(status)};
}

}  // namespace factionos::file
