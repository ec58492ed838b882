#include "workers/file/protected.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "workers/file/meaning.h"
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
  return !directory.empty() && same(path.substr(0, directory.size()), directory) &&
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

// Whether `path` is what `name` means, or lies in it: by the text, or by the links that lead there.
class Meanings {
 public:
  Meanings(int workspace, std::string_view path)
      : workspace_(workspace), path_(path), root_(rootOf(workspace)) {}

  [[nodiscard]] bool leadTo(const std::string& name) const {
    return isWithin(path_, plain(name)) || isWithin(path_, of(name));
  }
  [[nodiscard]] std::string of(const std::string& name) const {
    return meaningOf(workspace_, root_, relative(name));
  }
  [[nodiscard]] bool haveListedName() const {
    return std::ranges::any_of(session::protectedNames(), [this](const session::ProtectedName& each) {
      return isWithin(path_, of(std::string(each.path)));
    });
  }

 private:
  // From the top of the workspace; empty if it lies elsewhere, where we can't write anyway.
  [[nodiscard]] std::string relative(const std::string& name) const {
    const std::filesystem::path whole = name;
    if (!whole.is_absolute()) return name;
    if (root_.empty() || !isWithin(name, root_)) return {};
    return name.substr(root_.size());
  }
  [[nodiscard]] std::string plain(const std::string& name) const {
    std::string text = std::filesystem::path(relative(name)).relative_path().lexically_normal().string();
    if (text.ends_with('/')) text.pop_back();
    return isPlainPath(text) ? text : std::string();
  }

  int workspace_;
  std::string_view path_;
  std::string root_;
};

// What git's configuration names, followed from file to file.
class GitNames {
 public:
  GitNames(int workspace, const Meanings& meanings) : workspace_(workspace), meanings_(meanings) {}

  // Whether `path` is one of them, or lies in one.
  bool havePath() {
    while (!open_.empty()) {
      const std::string config = std::move(open_.back());
      open_.pop_back();
      const std::string place = meanings_.of(config);
      if (place.empty() || !seen_.insert(place).second) continue;
      if (seen_.size() > kMostConfigs) return true;  // more than is looked at
      if (isIn(config, place)) return true;
    }
    return false;
  }

 private:
  bool isIn(const std::string& config, const std::string& place) {
    const session::GitConfig found = session::readGitConfig(readConfig(workspace_, place));
    for (const std::string& hooks : found.hooksPaths) {
      if (meanings_.leadTo(hooks)) return true;
    }
    for (const std::string& include : found.includes) {
      std::string named =
          include.starts_with('/') ? include : config.substr(0, config.rfind('/')) + "/" + include;
      if (meanings_.leadTo(named)) return true;
      open_.push_back(std::move(named));
    }
    return false;
  }

  int workspace_;
  const Meanings& meanings_;
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
  const auto isFirst = [path](std::string_view name) { return same(firstOf(path), name); };
  if (std::ranges::any_of(session::keptAtTop(workspace), isFirst)) return true;
  const Meanings meanings(workspace, path);
  return meanings.haveListedName() || GitNames(workspace, meanings).havePath();
}

}  // namespace factionos::file
