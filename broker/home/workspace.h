#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "broker/home/home.h"
#include "broker/home/result.h"
#include "broker/home/unique_fd.h"

namespace factionos::home {

// Why a directory can't be a workspace.
enum class WorkspaceRule : std::uint8_t {
  kBadPath,  // empty, relative, NUL, too long
  kNotFound,
  kNotDirectory,
  kSymlink,       // a stored path that now leads through a symbolic link
  kRoot,          // "/"
  kIsHome,        // FactionOS's home itself
  kContainsHome,  // an ancestor of it, or a mount below the workspace shows it
  kInsideHome,
  kUserHome,         // a user's home directory itself, or what contains the one of the broker's user
  kSystemDirectory,  // /usr, /etc, /proc … or below; /tmp, /var, /home … themselves
  kSocketDirectory,  // /run, /var/run … or below
  kForeignOwner,     // somebody else's, and open to everybody
  kNoAccess,         // the broker's user may not read, write and search it
};
const char* label(WorkspaceRule rule);  // "is_home", "contains_home", …

struct WorkspaceRefusal {
  WorkspaceRule rule;
  Problem problem;  // message and remedy; names no path
};

struct CheckedWorkspace {
  UniqueFd fd;       // O_PATH | O_DIRECTORY: what was checked is what is handed on
  std::string path;  // resolved
  dev_t device = 0;
  ino_t inode = 0;
};

enum class PathForm : std::uint8_t {
  kTyped,   // `workspace add`: symbolic links are resolved, and the resolved path is what gets stored
  kStored,  // at every launch: no component may be a symbolic link
};

// Where the guard learns of users' homes and mounts; tests give their own.
struct GuardSources {
  std::vector<std::string> ownHomes;  // of the broker's user: what contains one is refused too
  std::string passwdFile = "/etc/passwd";
  std::string mountInfo = "/proc/self/mountinfo";

  static GuardSources fromProcess();  // ownHomes: the passwd entry of the effective uid, and $HOME
};

// Knows what a workspace may not be. Built once at start, before the broker confines itself and after it has
// forked, when /etc/passwd and the system directories can be looked at; a check afterwards is a few dozen
// system calls on descriptors and works by identity (device and inode of every ancestor), so that neither
// "..", nor a symbolic link, nor another mount of the same directory deceives it.
class WorkspaceGuard {
 public:
  static Result<WorkspaceGuard> create(const Home& home,
                                       const GuardSources& sources = GuardSources::fromProcess());
  WorkspaceGuard(WorkspaceGuard&&) noexcept;
  WorkspaceGuard& operator=(WorkspaceGuard&&) noexcept;
  ~WorkspaceGuard();

  std::variant<CheckedWorkspace, WorkspaceRefusal> check(std::string_view path, PathForm form) const;

  // The same rules for a directory that is open already (O_PATH is enough). Empty when it may be used. Needs
  // no /proc: mounts below the workspace are looked at by the other form alone.
  std::optional<WorkspaceRefusal> check(int directory) const;

  // For [profile] program_dirs and readable_dirs: the relations to the home, to "/" and to users' homes, and
  // the socket and kernel directories are refused; system directories are not.
  std::optional<WorkspaceRefusal> checkProfileDirectory(std::string_view path) const;

 private:
  struct Facts;
  explicit WorkspaceGuard(std::unique_ptr<Facts> facts);
  std::unique_ptr<Facts> facts_;
};

}  // namespace factionos::home
