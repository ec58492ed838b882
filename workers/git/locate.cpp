#include "workers/git/locate.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/git/files.h"

namespace factionos::git {
namespace {

constexpr std::size_t kLinkBytes = PATH_MAX + 16;
constexpr std::size_t kConfigBytes = std::size_t{1} << 20;
constexpr std::size_t kAlternatesBytes = std::size_t{64} << 10;
constexpr std::size_t kMostAlternates = 16;
constexpr std::size_t kMostRemotes = 8;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// Lexically: what is opened afterwards has no symbolic link on its way, so ".." means what it says.
std::string resolved(const std::string& base, std::string_view path) {
  const std::filesystem::path whole =
      path.starts_with('/') ? std::filesystem::path(path) : std::filesystem::path(base) / path;
  std::string normal = whole.lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

std::string required(int directory, const char* name, std::size_t most, std::string_view rule) {
  std::optional<std::string> text = readSmall(directory, name, most);
  if (!text || text->find('\0') != std::string::npos) throw repositoryRefused(rule);
  return std::move(*text);
}

std::vector<ConfigEntry> entriesOf(const Directory& directory, const char* name) {
  struct stat status {};
  if (fstatat(directory.handle.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) return {};
  const std::string text = required(directory.handle.get(), name, kConfigBytes, "config_unreadable");
  std::optional<std::vector<ConfigEntry>> entries = readConfigText(text);
  if (!entries) throw repositoryRefused("config_malformed");
  return std::move(*entries);
}

// Whether there is a main working tree is told by its own configuration, and nothing else is asked of that.
bool isBare(const Directory& commonDir, const ConfigView& shared) {
  bool bare = shared.bare;
  if (!shared.worktreeConfig) return bare;
  for (const ConfigEntry& each : entriesOf(commonDir, "config.worktree"))
    if (each.key == "core.bare") bare = asBool(each).value_or(true);
  return bare;
}

class Locator {
 public:
  Locator(Place& place, const std::vector<int>& roots) : place_(place), roots_(roots) {}

  void run() {
    findGitDirectory();
    findCommonDirectory();
    place_.mark = markOf(place_);
    judgeOwners();
    readConfig();
    judgeWorkTree();
    addAlternates(openDirectory(place_.commonDir.path + "/objects"), place_.commonDir.path + "/objects", 0);
    addRemotes();
    if (markOf(place_) != place_.mark) throw repositoryRefused("moved_while_opening");
  }

 private:
  Directory within(std::string path, std::string_view rule) const {
    sandbox::Fd handle = openDirectory(path);
    if (!handle) throw repositoryRefused(errno == ENOENT ? "git_directory_missing" : rule);
    if (!liesWithin(handle.get(), roots_)) throw repositoryRefused(rule);
    return {std::move(path), std::move(handle)};
  }

  [[nodiscard]] int workTree() const { return place_.workTree.handle.get(); }

  void findGitDirectory() {
    struct stat status {};
    if (fstatat(workTree(), ".git", &status, AT_SYMLINK_NOFOLLOW) != 0)
      throw Refusal{"not_found", "no_repository"};
    std::string path = place_.workTree.path + "/.git";
    if (S_ISREG(status.st_mode)) {
      const std::string text = required(workTree(), ".git", kLinkBytes, "git_file");
      constexpr std::string_view kPrefix = "gitdir: ";
      if (!text.starts_with(kPrefix)) throw repositoryRefused("git_file");
      path = resolved(place_.workTree.path, trimmed(std::string_view(text).substr(kPrefix.size())));
    } else if (!S_ISDIR(status.st_mode)) {
      throw repositoryRefused("git_directory_is_a_link");
    }
    place_.gitDir = within(std::move(path), "git_directory_outside");
  }

  void findCommonDirectory() {
    const int gitDir = place_.gitDir.handle.get();
    struct stat status {};
    if (fstatat(gitDir, "commondir", &status, AT_SYMLINK_NOFOLLOW) == 0) {
      const std::string text = required(gitDir, "commondir", kLinkBytes, "common_directory");
      place_.commonDir = within(resolved(place_.gitDir.path, trimmed(text)), "common_directory_outside");
      place_.kind = Kind::kLinked;
    } else {
      place_.commonDir = within(place_.gitDir.path, "git_directory_outside");
    }
    if (fstatat(gitDir, "HEAD", &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
      throw repositoryRefused("no_head");
  }

  // Whoever owns the workspace, which the operator listed, or this process's own user.
  void judgeOwners() const {
    struct stat workspace {};
    if (fstat(workTree(), &workspace) != 0) throw repositoryRefused("owner");
    for (const Directory* each : {&place_.gitDir, &place_.commonDir}) {
      struct stat status {};
      const bool known = fstat(each->handle.get(), &status) == 0 &&
                         (status.st_uid == geteuid() || status.st_uid == workspace.st_uid);
      if (!known) throw repositoryRefused("owner");
    }
  }

  void readConfig() {
    std::vector<ConfigEntry> entries = entriesOf(place_.commonDir, "config");
    place_.config = viewOf(entries, place_.kind);
    if (!place_.config.worktreeConfig) return;
    const bool bare = isBare(place_.commonDir, place_.config);
    for (ConfigEntry& more : entriesOf(place_.gitDir, "config.worktree")) entries.push_back(std::move(more));
    place_.config = viewOf(entries, place_.kind);
    place_.config.bare = bare;
  }

  // A repository that lies elsewhere has to say itself that this is its working tree: what can be written
  // into a workspace can't make another repository act for it.
  void judgeWorkTree() const {
    const auto same = [this](const std::string& path) {
      const sandbox::Fd found = openDirectory(path);
      return found && identityOf(found.get()) == identityOf(workTree());
    };
    if (place_.kind == Kind::kLinked) {
      const std::string text = required(place_.gitDir.handle.get(), "gitdir", kLinkBytes, "worktree_link");
      const std::string file = resolved(place_.gitDir.path, trimmed(text));
      if (!file.ends_with("/.git") || !same(file.substr(0, file.size() - 5)))
        throw repositoryRefused("worktree_link");
      return;
    }
    if (place_.config.worktree) {
      if (!same(resolved(place_.gitDir.path, *place_.config.worktree)))
        throw repositoryRefused("worktree_outside");
      return;
    }
    if (!liesWithin(place_.gitDir.handle.get(), {workTree()})) throw repositoryRefused("worktree_link");
  }

  // A command can write the list, so it reaches no further than the command does: not into other workspaces,
  // whose contents a policy may keep from it.
  [[nodiscard]] Directory alternate(std::string path) const {
    Directory found = within(std::move(path), "alternates_outside");
    if (!liesWithin(found.handle.get(), {workTree(), place_.commonDir.handle.get()}))
      throw repositoryRefused("alternates_outside");
    return found;
  }

  void addAlternates(const sandbox::Fd& objects, const std::string& path, int depth) {
    if (!objects) throw repositoryRefused("no_objects");
    struct stat status {};
    if (fstatat(objects.get(), "info/alternates", &status, 0) != 0) return;
    if (depth >= 5) throw repositoryRefused("alternates_too_deep");
    const std::string text =
        required(objects.get(), "info/alternates", kAlternatesBytes, "alternates_unreadable");
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (trimmed(line).empty() || line.front() == '#') continue;
      if (place_.alternates.size() == kMostAlternates) throw repositoryRefused("alternates_too_many");
      place_.alternates.push_back(alternate(resolved(path, trimmed(line))));
      const std::string next = place_.alternates.back().path;
      addAlternates(openDirectory(next), next, depth + 1);
    }
  }

  // A remote that is no path within the roots is left out: there is no transport here that could reach it.
  void addRemotes() {
    constexpr std::string_view kSection = "remote.";
    constexpr std::string_view kUrl = ".url";
    for (const ConfigEntry& entry : place_.config.entries) {
      if (!entry.key.starts_with(kSection) || !entry.key.ends_with(kUrl)) continue;
      if (entry.key.size() <= kSection.size() + kUrl.size() || place_.remotes.size() == kMostRemotes)
        continue;
      std::string name = entry.key.substr(kSection.size(), entry.key.size() - kSection.size() - kUrl.size());
      if (auto found = localRepository(entry.value))
        place_.remotes.push_back({std::move(name), std::move(*found)});
    }
  }

  [[nodiscard]] std::optional<Directory> localRepository(std::string_view url) const {
    constexpr std::string_view kFile = "file://";
    if (url.starts_with(kFile)) url.remove_prefix(kFile.size());
    const std::string base = resolved(place_.workTree.path, url);
    for (const std::string& path : {base + "/.git", base}) {
      sandbox::Fd handle = openDirectory(path);
      struct stat status {};
      if (!handle || fstatat(handle.get(), "objects", &status, 0) != 0) continue;
      if (!liesWithin(handle.get(), roots_)) return std::nullopt;
      return Directory{path, std::move(handle)};
    }
    return std::nullopt;
  }

  Place& place_;
  const std::vector<int>& roots_;
};

}  // namespace

std::vector<int> Place::own(worker::Access access) const {
  std::vector<int> found = {workTree.handle.get()};
  if (refusal) return found;
  found.push_back(gitDir.handle.get());
  found.push_back(commonDir.handle.get());
  if (access == worker::Access::kPush)
    for (const Remote& remote : remotes) found.push_back(remote.gitDir.handle.get());
  return found;
}

std::vector<int> Place::readOnly(worker::Access access) const {
  std::vector<int> found;
  if (refusal) return found;
  for (const Directory& alternate : alternates) found.push_back(alternate.handle.get());
  if (access != worker::Access::kPush)
    for (const Remote& remote : remotes) found.push_back(remote.gitDir.handle.get());
  return found;
}

ConfigView configOf(const Directory& commonDir) {
  ConfigView view = viewOf(entriesOf(commonDir, "config"), Kind::kLinked);
  view.bare = isBare(commonDir, view);
  return view;
}

std::string markOf(const Place& place) {
  std::string text;
  const auto add = [&text](const Directory& directory, const char* name) {
    struct stat status {};
    if (fstatat(directory.handle.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) status = {};
    for (const auto number :
         {static_cast<long long>(status.st_dev), static_cast<long long>(status.st_ino),
          static_cast<long long>(status.st_size), static_cast<long long>(status.st_ctim.tv_sec),
          static_cast<long long>(status.st_ctim.tv_nsec)})
      text += std::to_string(number) + ".";
  };
  // Of .git itself whether it is the same one: its times change with each commit.
  struct stat status {};
  if (fstatat(place.workTree.handle.get(), ".git", &status, AT_SYMLINK_NOFOLLOW) != 0) status = {};
  text += std::to_string(status.st_dev) + "." + std::to_string(status.st_ino) + ".";
  if (S_ISREG(status.st_mode)) add(place.workTree, ".git");
  add(place.gitDir, "commondir");
  add(place.gitDir, "gitdir");
  add(place.gitDir, "config.worktree");
  add(place.commonDir, "config");
  add(place.commonDir, "config.worktree");
  add(place.commonDir, "objects/info/alternates");
  return text;
}

std::string pathOf(int directory) {
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  if (size <= 0 || static_cast<std::size_t>(size) == path.size()) return {};
  return {path.data(), static_cast<std::size_t>(size)};
}

Place locate(const std::string& workspace, const std::vector<int>& directories) {
  Place place;
  place.workTree = {workspace, openDirectory(workspace)};
  try {
    if (!place.workTree.handle || identityOf(place.workTree.handle.get()) != identityOf(directories.front()))
      throw Refusal{"not_found", "workspace_moved"};
    Locator(place, directories).run();
  } catch (const Refusal& refusal) {
    if (!place.workTree.handle)
      place.workTree.handle = sandbox::Fd(fcntl(directories.front(), F_DUPFD_CLOEXEC, 0));
    place.refusal = refusal;
  }
  return place;
}

}  // namespace factionos::git
