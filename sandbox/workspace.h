// Which directory may be somebody's workspace: judged on open descriptors and by identity (device and inode
// of every ancestor), so that neither "..", nor a symbolic link, nor another mount of the same directory
// deceives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "sandbox/descriptors.h"

namespace factionos::sandbox {

// Why a directory can't be a workspace. "Home" is the directory that holds our own state.
enum class WorkspaceRule : std::uint8_t {
  kBadPath,  // empty, relative, NUL, "..", too long
  kNotFound,
  kNotDirectory,
  kSymlink,  // a component is a symbolic link
  kRoot,     // "/"
  kIsHome,
  kContainsHome,  // an ancestor of it, or a mount below the workspace shows it
  kInsideHome,
  kUserHome,         // a user's home directory itself, or what contains the one of this process's user
  kSystemDirectory,  // /usr, /etc, /proc … or below; /tmp, /var, /home … themselves
  kSocketDirectory,  // /run, /var/run … or below
  kForeignOwner,     // somebody else's, and open to everybody
  kNoAccess,         // this process's user may not read, write and search it
};

// "is_home", "contains_home", …: a label.
const char* label(WorkspaceRule rule);

// Why a path can't be resolved or opened, by the errno that it gave.
WorkspaceRule ruleOf(int error);

// Where the rules learn of users' homes and of mounts; tests give their own.
struct WorkspaceSources {
  std::vector<std::string> ownHomes;  // of this process's user: what contains one is refused too
  std::string passwdFile = "/etc/passwd";
  std::string mountInfo = "/proc/self/mountinfo";

  static WorkspaceSources fromProcess();  // ownHomes: the passwd entry of the effective uid, and $HOME
};

class WorkspaceRules {
 public:
  // `home`: descriptor of our own home (O_PATH is enough), borrowed for the call. Learns the directories of
  // the system and of its users as they are now. Throws std::system_error, with fixed text, where the
  // directories above the home or the table of mounts can't be looked at: there are no rules then.
  static WorkspaceRules gather(int home, WorkspaceSources sources = WorkspaceSources::fromProcess());

  // Opens `path` (O_PATH | O_DIRECTORY, close-on-exec) without following any symbolic link, and judges what
  // was opened.
  [[nodiscard]] std::variant<Fd, WorkspaceRule> open(const std::string& path) const;

  // The same for a directory of programs or data that commands may read: system directories may be one, and
  // writing it is not asked for.
  [[nodiscard]] std::variant<Fd, WorkspaceRule> openReadable(const std::string& path) const;

  // The directory that every command may read (system_paths.h) and that shows the home by a mount below it.
  // Empty if there is none.
  [[nodiscard]] std::optional<std::string_view> listedDirectoryShowsHome() const;

  // For a directory that is open already; mounts below it are not looked at. Empty when it may be used.
  [[nodiscard]] std::optional<WorkspaceRule> judge(int directory) const;

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  using Chain = std::vector<Identity>;  // a directory, then every ancestor up to the root of this process

  enum class Use { kWorkspace, kReadable };
  struct Forbidden {
    Identity identity;
    WorkspaceRule rule;
    bool alsoForReading;
  };

  static std::optional<Identity> identityOf(int descriptor);
  // Empty if one of them can't be searched, or they are more than any path of the kernel's has.
  static Chain chainOf(int directory);
  static bool has(const Chain& chain, const Identity& identity);

  void addHome(int home);
  void addSystemDirectories();
  void addUserHomes();
  [[nodiscard]] std::variant<Fd, WorkspaceRule> open(const std::string& path, Use use) const;
  [[nodiscard]] std::optional<WorkspaceRule> relation(const Chain& chain, Use use) const;
  // Is the home, or a directory that holds it, mounted a second time below `path`? Also when nobody can tell.
  [[nodiscard]] bool mountShowsHome(const std::string& path) const;

  WorkspaceSources sources_;
  Chain home_;
  std::vector<Identity> homeFolders_;  // directly in it: each could be mounted elsewhere
  std::vector<Chain> ownHomes_;
  std::vector<Identity> otherHomes_;  // of every person in the passwd file
  std::vector<Forbidden> trees_;      // the directory and all below it
  std::vector<Forbidden> single_;     // the directory itself, not what lies below
};

// Mount points below `path` in a text like that of /proc/self/mountinfo.
std::vector<std::string> mountsBelow(const std::string& mountInfo, const std::string& path);

}  // namespace factionos::sandbox
