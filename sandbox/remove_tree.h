// Removing a directory with all that is in it, whoever filled it.
#pragma once

namespace factionos::sandbox {

enum class Removal {
  kGone,  // or was not there
  kLeft,  // something can't be removed: another's, or a mount
};

// Removes `name` in the directory `parent` (borrowed, open for reading). Directories of ours that were left
// without rights get them back first. Symbolic links are removed, never followed; another mount is left as it
// is, of the same file system too (from Linux 5.8 on). Uses a handful of descriptors and no recursion,
// however deep the tree: what lies deeper than the first level is moved up to it. Needs /proc. The caller
// must be the only one who works in the tree.
Removal removeTree(int parent, const char* name) noexcept;

// The same of all that is in `directory` (borrowed, open for reading), which stays: whatever its name is by
// now, it is the one that was looked at.
void emptyTree(int directory) noexcept;

}  // namespace factionos::sandbox
