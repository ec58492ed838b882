// Files and directories by descriptor, before and beside libgit2.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "sandbox/descriptors.h"

namespace factionos::git {

// Below `directory`: no symbolic link and no mount point on the way or at its end, ".." neither. Waits for
// nobody: a FIFO is open at once, and its kind is the caller's to look at. Empty with errno.
sandbox::Fd openBeneath(int directory, const std::string& path, int flags, mode_t mode = 0);

// Right behind a call that failed, as errno has it: throws Refusal "no_space" or "io_failed" of the file
// system, else "not_writable" of `what`, a name of ours.
void mustWrite(bool fact, std::string_view what);

// All of it. False with errno.
bool writeAll(int file, std::string_view content);

// One more directory. Nothing happens where there is something. Throws as mustWrite() does. Whether it was
// made.
bool makeDirectory(int parent, const std::string& name);

// From now on what this process makes, by whichever library, is for those alone whom `directory` is for: git
// goes by its user's umask, which no worker knows, and by core.sharedRepository, whose directories are its
// group's. Nothing is made for all to write.
void makeFilesAsIn(int directory);

// Gives `from` in `parent` the name `to`, if nothing has it: else EEXIST. Where a file system can't tell,
// what is left is to look right before. 0, or the error.
int renameToFree(int parent, const std::string& from, const std::string& to);

// "a/b/c" as "a/b" and "c"; "c" as "." and "c".
struct Split {
  std::string above;
  std::string leaf;
};
Split splitOf(const std::string& path);

// An absolute path without any symbolic link, as O_PATH | O_DIRECTORY. Empty with errno.
sandbox::Fd openDirectory(const std::string& path);

// Of a regular file that is no larger than `most`. Empty if it is not one, with errno; EFBIG: too large.
std::optional<std::string> readSmall(int directory, const std::string& path, std::size_t most);

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};
Identity identityOf(const struct stat& status);
std::optional<Identity> identityOf(int descriptor);

// Whether one of `roots` is `directory` or above it, judged by identity and not by path.
bool liesWithin(int directory, const std::vector<int>& roots);

}  // namespace factionos::git
