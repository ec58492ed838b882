#include "workers/session/protected_paths.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/setup_error.h"
#include "workers/session/git_config.h"
#include "workers/session/git_directories.h"
#include "workers/session/guarded_names.h"
#include "workers/session/resolve.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

constexpr std::string_view kGit = ".git";
constexpr std::size_t kConfigBytes = std::size_t{256} << 10;  // a longer one is read this far
constexpr std::size_t kGitDirectories = 1024;                 // looked at one by one; a mount or two for each
constexpr std::size_t kMost = 8192;  // mounts; the kernel's default is 100000 for a namespace
constexpr int kLinks = 16;           // followed on the way to one name; git gives up no later

constexpr std::array kNames = {
    ProtectedName{".git", Guard::kMountPoint, "renaming it would pass by what is protected inside"},
    ProtectedName{".git/hooks", Guard::kReadOnly, "git executes what lies here, outside of the sandbox"},
    ProtectedName{".git/config", Guard::kReadOnly, "names programs: hooks, filters, pagers, ssh"},
    ProtectedName{".git/config.worktree", Guard::kReadOnly, "the same, for one work tree"},
    ProtectedName{".git/commondir", Guard::kReadOnly, "says where configuration is read from"},
    ProtectedName{".claude", Guard::kReadOnly, "agent's settings: hooks and permissions"},
    ProtectedName{".codex", Guard::kReadOnly, "agent's settings"},
    ProtectedName{".cursor", Guard::kReadOnly, "agent's settings"},
    ProtectedName{".gemini", Guard::kReadOnly, "agent's settings"},
    ProtectedName{".windsurf", Guard::kReadOnly, "agent's settings"},
    ProtectedName{".continue", Guard::kReadOnly, "agent's settings"},
    ProtectedName{".kiro", Guard::kReadOnly, "agent's settings: hooks"},
    ProtectedName{".opencode", Guard::kReadOnly, "agent's settings"},
    ProtectedName{"opencode.json", Guard::kReadOnly, "the same: servers and permissions"},
    ProtectedName{"opencode.jsonc", Guard::kReadOnly, "the same"},
    ProtectedName{".roo", Guard::kReadOnly, "agent's settings"},
    ProtectedName{".amazonq", Guard::kReadOnly, "agent's settings"},
    ProtectedName{".qwen", Guard::kReadOnly, "agent's settings"},
    ProtectedName{".crush.json", Guard::kReadOnly, "agent's settings"},
    ProtectedName{"crush.json", Guard::kReadOnly, "the same"},
    ProtectedName{".aider.conf.yml", Guard::kReadOnly, "agent's settings: commands to run"},
    ProtectedName{".mcp.json", Guard::kReadOnly, "names servers that an agent starts"},
    ProtectedName{".vscode", Guard::kReadOnly, "tasks and settings that name programs"},
    ProtectedName{".idea", Guard::kReadOnly, "run configurations"},
    ProtectedName{".zed", Guard::kReadOnly, "tasks and settings that name programs"},
    ProtectedName{".fleet", Guard::kReadOnly, "run configurations"},
    ProtectedName{".exrc", Guard::kReadOnly, "commands that an editor runs where it starts"},
    ProtectedName{".nvimrc", Guard::kReadOnly, "the same"},
    ProtectedName{".nvim.lua", Guard::kReadOnly, "the same"},
    ProtectedName{".devcontainer", Guard::kReadOnly, "commands that an editor runs"},
    ProtectedName{".devcontainer.json", Guard::kReadOnly, "the same"},
    ProtectedName{".envrc", Guard::kReadOnly, "a shell script that direnv runs"},
    ProtectedName{".factionos", Guard::kReadOnly, "what changed files were before: undo is made of it"},
};

std::string readConfig(int workspace, const std::string& path) {
  const sandbox::Fd file = openBeneath(workspace, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text(kConfigBytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::string parentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// Without ".", "..", doubled and trailing slashes, as far as the text tells.
std::string plain(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal();
  if (normal.ends_with('/')) normal.pop_back();
  return normal;
}

std::string below(const std::string& directory, const std::string& path) {
  return directory.empty() || path.front() == '/' ? path : directory + "/" + path;
}

class Finder {
 public:
  explicit Finder(int workspace) : workspace_(workspace), root_(realPath(workspace)) {}

  ProtectedPaths run() {
    for (const ProtectedName& name : kNames) add(std::string(name.path), name.guard);
    const std::optional<std::vector<std::string>> repositories =
        gitDirectories(workspace_, std::string(kGit), kGitDirectories);
    result_.coarse = !repositories;
    if (!repositories) {
      add(".git/modules", Guard::kReadOnly);
      add(".git/worktrees", Guard::kReadOnly);
    }
    for (const std::string& git : repositories.value_or(std::vector{std::string(kGit)})) addRepository(git);
    addTop();
    return collect();
  }

 private:
  void addTop() {
    const std::span<const std::string_view> names = keptAtTop(workspace_);
    if (names.size() > 1) return addRepository("");
    add(std::string(names.front()), Guard::kReadOnly);
  }

  void addRepository(const std::string& git) {
    for (const std::string_view name : kGitSettings) add(below(git, std::string(name)), Guard::kReadOnly);
    addConfiguration(git, below(git, "config"));
    addConfiguration(git, below(git, "config.worktree"));
  }

  // What `config` names, and what the files that it includes name, which count as much as itself.
  void addConfiguration(const std::string& git, const std::string& config) {
    std::vector<std::string> open = {config};
    std::set<std::string> seen;
    while (!open.empty()) {
      const std::string path = resolve(open.back());
      open.pop_back();
      if (path.empty() || !seen.insert(path).second) continue;
      const GitConfig found = readGitConfig(readConfig(workspace_, path));
      addHooks(git, found);
      for (const std::string& include : found.includes) {
        add(below(parentOf(path), include), Guard::kReadOnly);
        open.push_back(below(parentOf(path), include));
      }
    }
  }

  // A relative path is meant from the top of the work tree.
  void addHooks(const std::string& git, const GitConfig& config) {
    for (const std::string& named : config.hooksPaths) {
      // husky's own, which execute those that lie beside them.
      const std::string hooks = named.ends_with("/_") ? parentOf(named) : named;
      add(hooks, Guard::kReadOnly);
      for (const std::string& tree : config.workTrees) add(below(below(git, tree), hooks), Guard::kReadOnly);
    }
  }

  void add(const std::string& path, Guard guard) {
    const std::string inside = plain(relative(path));
    if (inside.empty()) return;
    // Where there is no repository none may come to be: its settings would be the command's.
    const bool place = guard == Guard::kMountPoint && openBeneath(workspace_, inside, O_PATH | O_DIRECTORY);
    const bool there(openBeneath(workspace_, inside, O_PATH | O_NOFOLLOW));
    if (there || !isSettingsByForm(inside)) keep(inside, place ? Keep::kPlace : Keep::kWhole, kLinks);
    if (!there) return;
    const std::string target = resolve(inside);
    if (target != inside) result_.linked = true;
    if (target.empty()) return;
    // .git as a file (a linked work tree) names the repository: replacing its text replaces the hooks.
    if (inside == kGit && !openBeneath(workspace_, target, O_PATH | O_DIRECTORY)) guard = Guard::kReadOnly;
    insert(target, guard);
    for (std::string parent = parentOf(target); !parent.empty(); parent = parentOf(parent))
      insert(parent, Guard::kMountPoint);
  }

  // The name, what leads to it, and over links, what the names mean that are written in them.
  void keep(const std::string& path, Keep how, int links) {
    if (path.empty() || path.starts_with("..")) return;
    Keep& known = names_.try_emplace(path, how).first->second;
    if (how == Keep::kWhole) known = how;
    for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      names_.try_emplace(part, Keep::kPlace);
      if (const std::string text = linkText(part); !text.empty() && links > 0) {
        const std::string rest = end == std::string::npos ? std::string() : path.substr(end);
        return keep(plain(relative(below(parentOf(part), text) + rest)), how, links - 1);
      }
      if (end == std::string::npos) return;
    }
  }

  [[nodiscard]] std::string linkText(const std::string& path) const {
    const sandbox::Fd link = openBeneath(workspace_, path, O_PATH | O_NOFOLLOW);
    std::array<char, PATH_MAX> text{};
    const ssize_t size = link ? readlinkat(link.get(), "", text.data(), text.size()) : -1;
    return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }

  void insert(const std::string& path, Guard guard) {
    Guard& known = found_.try_emplace(path, guard).first->second;
    if (guard == Guard::kReadOnly) known = guard;
    if (found_.size() > kMost)
      throw sandbox::SetupError(sandbox::Step::kMounts, E2BIG, "protected_paths_too_many");
  }

  // Below what is read-only as a whole nothing may become writable again.
  ProtectedPaths collect() {
    for (const auto& [path, guard] : found_) {
      bool covered = false;
      for (std::string parent = parentOf(path); !parent.empty() && !covered; parent = parentOf(parent))
        covered = found_.at(parent) == Guard::kReadOnly;
      if (!covered) result_.present.push_back({path, guard});
    }
    for (const auto& [path, how] : names_) result_.names.push_back({path, how});
    return std::move(result_);
  }

  // Empty if it lies elsewhere.
  [[nodiscard]] std::string relative(const std::string& path) const {
    if (path.empty() || path.front() != '/') return path;
    const std::string whole = plain(path);
    if (root_.empty() || !isWithin(whole, root_) || whole.size() <= root_.size() + 1) return {};
    return whole.substr(root_.size() + 1);
  }

  // The real path relative to the workspace, all links followed within it; empty if it leads out, is not
  // there or is the workspace itself.
  [[nodiscard]] std::string resolve(const std::string& path) const {
    const std::string inside = relative(path);
    if (inside.empty()) return {};
    const sandbox::Fd handle = openBeneath(workspace_, inside, O_PATH);
    return handle ? relative(realPath(handle.get())) : std::string();
  }

  int workspace_;
  std::string root_;
  std::map<std::string, Guard> found_;  // a parent sorts before what lies in it
  std::map<std::string, Keep> names_;
  ProtectedPaths result_;
};

}  // namespace

std::span<const ProtectedName> protectedNames() {
  return kNames;
}

std::span<const std::string_view> keptAtTop(int workspace) {
  static constexpr std::array<std::string_view, 3> kMarks = {"HEAD", "objects", "refs"};
  // By fstatat(), which every worker that asks may call.
  for (const std::string_view& mark : kMarks) {
    struct stat status {};
    if (fstatat(workspace, mark.data(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {&mark, 1};
  }
  return kGitSettings;
}

ProtectedPaths findProtected(int workspace) {
  return Finder(workspace).run();
}

}  // namespace factionos::session
