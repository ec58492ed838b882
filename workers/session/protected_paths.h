// What a command may not change inside of its own workspace: files that others execute, or read as their
// settings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace factionos::session {

enum class Guard {
  kMountPoint,  // stays writable, but can't be renamed or removed, and so can't be replaced as a whole
  kReadOnly,
};

struct ProtectedName {
  std::string_view path;  // relative to the workspace
  Guard guard;
  std::string_view reason;
};

// The list itself. On top comes what git reads: the same files of submodules and linked work trees, what
// their configuration includes, and where core.hooksPath points.
std::span<const ProtectedName> protectedNames();

// Names at the top of `workspace` (O_PATH, borrowed) by which it would be a repository itself: without a .git
// that it accepts, git takes for one what has HEAD, objects and refs. The first of these that is not there;
// or, where all are, what such a repository is configured by.
std::span<const std::string_view> keptAtTop(int workspace);

struct ProtectedPath {
  std::string path;  // relative to the workspace, without symbolic links
  Guard guard = Guard::kReadOnly;
};

// What the gofer keeps (gofer.h), whether it is there yet or not.
enum class Keep {
  kWhole,  // nothing is made, changed or removed there
  kPlace,  // a directory or a link on the way: what is there stays, and only an empty directory may come to
           // be
};

struct KeptName {
  std::string path;  // relative to the workspace; parts may be links, which are names of their own then
  Keep keep = Keep::kWhole;
};

struct ProtectedPaths {
  std::vector<ProtectedPath> present;  // parents before what lies in them
  std::vector<KeptName> names;         // of every path, link and target that leads there
  bool linked = false;  // a name leads over a symbolic link: its target, if inside, is in `present`; the link
                        // itself is kept by the gofer alone
  bool coarse = false;  // too many submodules or work trees to look at: the directories that hold them are
                        // read-only as a whole
};

// As parts of what a command is given.
enum class ProtectedLinks { kNone, kSome };     // ProtectedPaths::linked
enum class ProtectedDetail { kFull, kCoarse };  // ProtectedPaths::coarse

// What of the list exists now in `workspace` (O_PATH directory, borrowed), and every directory on the way to
// it as a mount point: a directory that could be renamed would take what is protected with it, out of the
// way. Makes nothing: a name that does not exist leaves no ghost file. What keeps such a name is the gofer;
// without one it can be created by the command (posture protected_paths:existing_only). Throws SetupError if
// there is more than can be mounted.
ProtectedPaths findProtected(int workspace);

}  // namespace factionos::session
