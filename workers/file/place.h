// Where a path of a request leads: walked one component at a time, each opened in the directory before it
// without following a link, so that no rename and no link planted meanwhile leads anywhere else. openat2
// would walk as safely; but its mode lies behind a pointer that no filter reads, and a worker that turned bad
// could make set-user-id files with it.
#pragma once

#include <string>
#include <string_view>

#include <sys/stat.h>

#include "sandbox/descriptors.h"
#include "workers/file/denied.h"

namespace factionos::file {

inline constexpr std::size_t kLongestPath = 4095;
inline constexpr std::size_t kLongestName = 255;
inline constexpr std::size_t kDeepest = 128;  // components

// "a/b/c": relative, no empty, "." or ".." component, no NUL, within the lengths above.
bool isPlainPath(std::string_view path);

// One name in one directory that is held open. The directory may be moved later; then Landlock judges where
// it lies.
struct Place {
  sandbox::Fd directory;  // readable, for its fsync too
  std::string name;
};

enum class Parents { kMustExist, kMake };

// Of what is to be changed: no component on the way is a symbolic link. `path` is plain.
Or<Place> placeOf(int workspace, std::string_view path, Parents parents = Parents::kMustExist);

// Opens a regular file or a directory for reading. Symbolic links are followed as long as they stay beneath
// the workspace. Never blocks and has no side effect: anything else is looked at and left alone. `path` is
// plain, or empty for the workspace itself.
Or<sandbox::Fd> openToRead(int workspace, std::string_view path);

// What is there; kind absent is errno ENOENT. Follows no link at the end, and on the way as openToRead().
Or<struct stat> statusOf(int workspace, std::string_view path);

// Opens `name` in `directory`, never through a link; empty with errno set.
sandbox::Fd openHere(int directory, const std::string& name, int flags, mode_t mode = 0);

}  // namespace factionos::file
