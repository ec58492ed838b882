// One file of the working tree in the place of another, or gone: only what was judged, and nothing that came
// or was edited since.
#pragma once

#include <functional>
#include <string>

#include <sys/stat.h>
#include <time.h>

#include "workers/git/files.h"

namespace factionos::git {

// A file by what lstat() tells. Taken before its content is judged, so that it is not newer than that.
struct Stamp {
  mode_t mode = 0;  // 0: nothing was there
  Identity identity;
  off_t size = 0;
  timespec modified{};
  timespec changed{};
  bool settled = false;  // whoever writes to it from now on leaves other times
};
Stamp stampOf(int parent, const std::string& name);

// The file that was judged, and how its content is looked at again where the stamp does not say that it is
// the same: `name` in `parent`, wherever it has been taken.
struct KnownFile {
  Stamp stamp;
  std::function<bool(int parent, const std::string& name)> hasItsContent;
};
[[nodiscard]] bool isStill(int parent, const std::string& name, const KnownFile& known);

// `fresh`, which is ours, gets the free name `name`. What has come there since it was looked for stays.
// Throws Refusal "would_overwrite" then; `fresh` is the caller's to remove.
void bring(int parent, const std::string& fresh, const std::string& name);

// The same in the place of what is known, from one moment to the next. What was there has the name `aside`
// until it has been looked at once more. If it is not what is known it gets its name back, and Refusal
// "would_overwrite", "edited" is thrown; where yet another file has come there meanwhile both stay, the one
// under `aside`: "kept_aside". `fresh` is gone then, or the caller's to remove.
// Who has the old file open and writes to it after that look writes to a file that has no name.
void replace(int parent, const std::string& fresh, const std::string& name, const std::string& aside,
             const KnownFile& known);

// Removes what is known. The same refusals.
void removeKnown(int parent, const std::string& name, const std::string& aside, const KnownFile& known);

}  // namespace factionos::git
