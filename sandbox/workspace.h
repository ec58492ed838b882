// Which directory may be somebody's workspace: judged on open descriptors and by identity (device and inode
// of every ancestor), so that neither "..", nor a symbolic link, nor a second name deceives it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "sandbox/descriptors.h"

namespace factionos::sandbox {

enum class WorkspaceRefusal {
  kPath,             // not absolute, NUL, too long
  kUnusable,         // not there, no directory, a symbolic link on the way, or not searchable
  kRoot,             // "/"
  kState,            // is, contains or lies in the directory that holds our own state
  kUserHome,         // the user's home itself, or what contains it
  kSystemDirectory,  // a system directory, or below one; /home, /tmp, /var ... themselves
  kSocketDirectory,  // where others' sockets lie, or below
};

// "is_root", "own_state" ...: a label.
std::string_view label(WorkspaceRefusal refusal);

class WorkspaceRules {
 public:
  // `state`: O_PATH descriptor of the directory of our own state, borrowed for the call alone; -1: none is
  // known. Learns the user's home from the password database and $HOME, and the system's directories as they
  // are now.
  static WorkspaceRules gather(int state);

  // Opens `path` (O_PATH | O_DIRECTORY, close-on-exec) without following any symbolic link, and judges what
  // was opened.
  [[nodiscard]] std::variant<Fd, WorkspaceRefusal> open(const std::string& path) const;

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  // From the directory itself up to the root of this process. Empty if one of them can't be searched.
  static std::vector<Identity> ancestry(int directory);
  static std::vector<Identity> ancestry(const std::string& path);
  static bool has(const std::vector<Identity>& list, const Identity& identity);

  std::vector<Identity> state_;  // ancestry of each, its own identity first
  std::vector<std::vector<Identity>> homes_;
  std::vector<Identity> systemTrees_;
  std::vector<Identity> socketTrees_;
  std::vector<Identity> sharedParents_;
};

}  // namespace factionos::sandbox
