#include "workers/file/protected.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "workers/file/place.h"
#include "workers/session/git_config.h"
#include "workers/session/protected_paths.h"

namespace factionos::file {
namespace {

// As a file system that ignores case would compare; on one that does not, a few names more are refused.
bool same(std::string_view one, std::string_view other) {
  return std::ranges::equal(
      one, other, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

std::string_view firstOf(std::string_view path) {
  return path.substr(0, path.find('/'));
}

bool isListedName(std::string_view component) {
  return std::ranges::any_of(session::protectedNames(), [component](const session::ProtectedName& each) {
    return same(component, firstOf(each.path));
  });
}

bool isWithin(std::string_view path, std::string_view directory) {
  return !directory.empty() && path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

constexpr std::size_t kConfigBytes = std::size_t{256} << 10;  // a longer one is read this far
constexpr std::size_t kMostConfigs = 64;

std::string readConfig(int workspace, const std::string& path) {
  const auto opened = openToRead(workspace, path);
  if (deniedIn(opened) != nullptr) return {};
  std::string text(kConfigBytes, '\0');
  const ssize_t size = pread(std::get<sandbox::Fd>(opened).get(), text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

// The workspace's own path as the kernel knows it; empty if it does not tell.
std::string rootOf(int workspace) {
  std::array<char, PATH_MAX> path{};
  const auto link = "/proc/self/fd/" + std::to_string(workspace);
  const ssize_t size = readlinkat(AT_FDCWD, link.c_str(), path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

// What git's configuration names, followed from file to file.
class GitNames {
 public:
  GitNames(int workspace, std::string_view path)
      : workspace_(workspace), path_(path), root_(rootOf(workspace)) {}

  // Whether `path` is one of them, or lies in one.
  bool havePath() {
    while (!open_.empty()) {
      const std::string config = std::move(open_.back());
      open_.pop_back();
      if (!seen_.insert(config).second) continue;
      if (seen_.size() > kMostConfigs) return true;  // more than is looked at
      if (isIn(config)) return true;
    }
    return false;
  }

 private:
  bool isIn(const std::string& config) {
    const session::GitConfig found = session::readGitConfig(readConfig(workspace_, config));
    for (const std::string& hooks : found.hooksPaths) {
      if (isWithin(path_, relative({}, hooks))) return true;
    }
    for (const std::string& include : found.includes) {
      auto named = relative(config.substr(0, config.rfind('/')), include);
      if (isWithin(path_, named)) return true;
      if (!named.empty()) open_.push_back(std::move(named));
    }
    return false;
  }

  // From the top of the workspace; empty if it lies elsewhere, where we can't write anyway.
  [[nodiscard]] std::string relative(const std::string& base, const std::string& path) const {
    std::filesystem::path whole = std::filesystem::path(base) / path;
    if (whole.is_absolute()) whole = root_.empty() ? "" : whole.lexically_relative(root_);
    std::string plain = whole.lexically_normal().string();
    if (plain.ends_with('/')) plain.pop_back();
    return isPlainPath(plain) ? plain : std::string();
  }

  int workspace_;
  std::string_view path_;
  std::string root_;
  std::vector<std::string> open_ = {".git/config", ".git/config.worktree"};
  std::set<std::string> seen_;
};

}  // namespace

bool isOwn(std::string_view path) {
  return same(firstOf(path), kOwnFolder);
}

bool isProtected(int workspace, std::string_view path) {
  if (isOwn(path)) return true;
  for (std::string_view rest = path;;) {
    if (isListedName(firstOf(rest))) return true;
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  return GitNames(workspace, path).havePath();
}

}  // namespace factionos::file
