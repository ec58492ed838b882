// What has been written waits for the disk, together.
#pragma once

#include <string_view>
#include <vector>

namespace factionos::git {

// Files and directories that are all written by now: all are on their way to the disk before the first wait,
// which is for the file system's journal, too, in which the others have come as well; theirs are short.
// Threads that wait at once were no faster. Throws as mustWrite() does.
void makeDurable(const std::vector<int>& files, std::string_view what);

// Everything on the file system of `directory`: shorter for many, and longer for a few where others write,
// too. Throws as mustWrite() does.
void makeAllDurable(int directory, std::string_view what);

}  // namespace factionos::git
