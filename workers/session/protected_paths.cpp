#include "workers/session/protected_paths.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "workers/session/git_config.h"
#include "workers/session/resolve.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

constexpr std::string_view kGit = ".git";
constexpr std::size_t kConfigBytes = std::size_t{256} << 10;  // a longer one is read this far
constexpr std::size_t kModules = 64;                          // submodules looked at

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
    ProtectedName{".aider.conf.yml", Guard::kReadOnly, "agent's settings: commands to run"},
    ProtectedName{".mcp.json", Guard::kReadOnly, "names servers that an agent starts"},
    ProtectedName{".vscode", Guard::kReadOnly, "tasks and settings that name programs"},
    ProtectedName{".idea", Guard::kReadOnly, "run configurations"},
    ProtectedName{".devcontainer", Guard::kReadOnly, "commands that an editor runs"},
    ProtectedName{".envrc", Guard::kReadOnly, "a shell script that direnv runs"},
};

struct Look {
  bool present = false;
  bool link = false;
};

// Does not follow a link at the end; a link on the way counts as absent, since its target has a path of its
// own.
Look look(int workspace, const std::string& path) {
  const sandbox::Fd handle = openBeneath(workspace, path, O_PATH | O_NOFOLLOW);
  struct stat status {};
  if (!handle || fstat(handle.get(), &status) != 0) return {};
  return {true, S_ISLNK(status.st_mode)};
}

// The real path of `path` relative to the workspace, all links followed within it; empty if it leads out.
std::string resolveBeneath(int workspace, const std::string& path) {
  const sandbox::Fd handle = openBeneath(workspace, path, O_PATH);
  if (!handle) return {};
  const std::string root = realPath(workspace);
  const std::string real = realPath(handle.get());
  if (root.empty() || !isWithin(real, root) || real.size() <= root.size() + 1) return {};
  return real.substr(root.size() + 1);
}

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

std::vector<std::string> submodules(int workspace) {
  sandbox::Fd directory = openBeneath(workspace, ".git/modules", O_RDONLY | O_DIRECTORY);
  if (!directory) return {};
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(directory.get()), closedir);
  if (!stream) return {};
  static_cast<void>(directory.release());  // the stream closes it
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != ".." && names.size() < kModules)
      names.push_back(".git/modules/" + std::string(name));
  }
  return names;
}

class Finder {
 public:
  explicit Finder(int workspace) : workspace_(workspace) {}

  ProtectedPaths run() {
    for (const ProtectedName& name : kNames) add(std::string(name.path), name.guard);
    addHooksPaths(".git/config");
    for (const std::string& module : submodules(workspace_)) {
      add(module + "/config", Guard::kReadOnly);
      add(module + "/hooks", Guard::kReadOnly);
    }
    std::ranges::stable_sort(found_.present, {}, [](const ProtectedPath& path) { return path.path; });
    return std::move(found_);
  }

 private:
  void add(const std::string& path, Guard guard) {
    const Look seen = look(workspace_, path);
    if (!seen.present) return;
    std::string target = path;
    if (seen.link) {
      found_.linked = true;
      target = resolveBeneath(workspace_, path);
      if (target.empty()) return;
    }
    // .git as a file (a linked work tree) names the repository: replacing its text replaces the hooks.
    if (path == kGit && !isDirectory(target)) guard = Guard::kReadOnly;
    const bool known = std::ranges::any_of(
        found_.present, [&target](const ProtectedPath& other) { return other.path == target; });
    if (!known) found_.present.push_back({std::move(target), guard});
  }

  [[nodiscard]] bool isDirectory(const std::string& path) const {
    return static_cast<bool>(openBeneath(workspace_, path, O_PATH | O_DIRECTORY));
  }

  void addHooksPaths(const std::string& config) {
    const std::string root = realPath(workspace_);
    for (std::string path : hooksPaths(readConfig(workspace_, config))) {
      if (path.front() == '/') {
        if (root.empty() || !isWithin(path, root) || path.size() <= root.size() + 1) continue;
        path = path.substr(root.size() + 1);
      }
      const std::string real = resolveBeneath(workspace_, path);
      if (!real.empty()) add(real, Guard::kReadOnly);
    }
  }

  int workspace_;
  ProtectedPaths found_;
};

}  // namespace

std::span<const ProtectedName> protectedNames() {
  return kNames;
}

ProtectedPaths findProtected(int workspace) {
  return Finder(workspace).run();
}

}  // namespace factionos::session
