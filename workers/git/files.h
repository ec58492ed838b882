// Files and directories by descriptor, before and beside libgit2.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "sandbox/descriptors.h"

namespace factionos::git {

// Below `directory`: no symbolic link and no mount point on the way or at its end, ".." neither. Empty with
// errno.
sandbox::Fd openBeneath(int directory, const std::string& path, int flags, mode_t mode = 0);

// One more directory, as git would make it: umask is 077 for a worker's own files. Nothing happens where
// there is something. Throws Refusal "not_writable". Whether it was made.
bool makeDirectory(int parent, const std::string& name);

// An absolute path without any symbolic link, as O_PATH | O_DIRECTORY. Empty with errno.
sandbox::Fd openDirectory(const std::string& path);

// Of a regular file that is no larger than `most`. Empty if it is not one, with errno; EFBIG: too large.
std::optional<std::string> readSmall(int directory, const std::string& path, std::size_t most);

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};
std::optional<Identity> identityOf(int descriptor);

// Whether one of `roots` is `directory` or above it, judged by identity and not by path.
bool liesWithin(int directory, const std::vector<int>& roots);

}  // namespace factionos::git
