// What has been written waits for the disk, together.
#pragma once

#include <string_view>
#include <vector>

namespace factionos::git {

// Files and directories, each as by fsync(), and all of them at once: the disk's journal is written for many
// in the time of one. Throws as mustWrite() does if it is not so of any.
void makeDurable(const std::vector<int>& files, std::string_view what);

// Everything on the file system of `directory`: shorter for many, and longer for a few where others write,
// too. Throws as mustWrite() does.
void makeAllDurable(int directory, std::string_view what);

}  // namespace factionos::git
