// What a tree of processes uses, read from /proc.
#pragma once

#include <cstdint>

namespace factionos::session {

enum class Memory {
  kResident,      // cheap; shared pages count once for each process
  kProportional,  // exact; walks page tables
};

struct TreeUse {
  std::uint32_t processes = 0;  // all descendants of this process, threads not counted
  std::uint64_t memoryBytes = 0;
  std::uint64_t cpuMs = 0;  // of the living and of the children that they have waited for
};

// Of all descendants of the calling process, itself excluded. Processes that come or go meanwhile may be
// missed. Looks at no more than `most` + 1 of them: a tree that is over its cap is not worth the time that it
// takes to walk it.
TreeUse measureTree(Memory memory, std::uint32_t most);

// Threads of all processes of this process's real user that /proc shows.
std::uint32_t tasksOfUser();

// Bytes that the System V shared memory segments of this ipc namespace take, attached or not.
std::uint64_t segmentBytes();

// Bytes in use in the tmpfs that holds `path`; 0 if it is no tmpfs.
std::uint64_t tmpfsBytes(const char* path);

}  // namespace factionos::session
