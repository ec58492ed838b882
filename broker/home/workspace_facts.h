#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "broker/home/home.h"
#include "broker/home/unique_fd.h"
#include "broker/home/workspace.h"

namespace factionos::home {

// Mechanism of workspace.cpp: directories by identity. Private to this library.

struct DirectoryId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const DirectoryId&) const = default;
};

// O_PATH on a directory; empty when it can't be opened.
UniqueFd openPath(const std::string& path);
std::optional<DirectoryId> idOf(int fd);

// The directory itself first, then every ancestor up to the root. Empty when one of them can't be searched or
// the chain is longer than any path that the kernel takes.
std::vector<DirectoryId> chainOf(int directory);

enum class Use : std::uint8_t { kWorkspace, kProfileDirectory };

// Whom a directory is closed to.
enum class ClosedTo : std::uint8_t {
  kWorkspaces,  // a profile may list it: programs and data lie there
  kEverything,
};

struct ForbiddenDirectory {
  DirectoryId id;
  WorkspaceRule rule;
  ClosedTo closedTo;
};

struct WorkspaceGuard::Facts {
  UniqueFd mountInfo;                    // opened at start: later the broker's own sandbox may hide /proc
  std::vector<DirectoryId> homeChain;    // the home first
  std::vector<DirectoryId> homeFolders;  // state/, run/, spool/, tokens/
  std::vector<std::vector<DirectoryId>> ownHomes;  // chains of the homes of the broker's user
  std::vector<DirectoryId> otherHomes;             // of every person in the passwd file
  std::vector<ForbiddenDirectory> trees;           // the directory and all below it
  std::vector<ForbiddenDirectory> single;          // the directory itself, not what lies below

  void addSystemDirectories();
  void addUserHomes(const GuardSources& sources);

  // What a directory with this chain is to all of the above; nothing when it is none of their business.
  std::optional<WorkspaceRule> relation(const std::vector<DirectoryId>& chain, Use use) const;
  // Is the home, or a directory that holds it, mounted a second time below `path`? Also when nobody can tell.
  bool mountShowsHome(const std::string& path) const;
};

WorkspaceRefusal refuse(WorkspaceRule rule);

// Mount points below `path` in a text like that of /proc/self/mountinfo.
std::vector<std::string> mountsBelow(const std::string& mountInfo, const std::string& path);

// All of it from its beginning, as it is now; nothing on an error.
std::optional<std::string> readAgain(int fd);

}  // namespace factionos::home
