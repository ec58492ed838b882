// The entries of a directory, by a descriptor.
#pragma once

#include <cstdint>
#include <memory>

#include <dirent.h>

#include "sandbox/descriptors.h"

namespace factionos::sandbox {

struct CloseDirectory {
  void operator()(DIR* stream) const noexcept { closedir(stream); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectory>;

// Takes over `directory`, open for reading. Null with errno if there is none or it can't be listed.
DirectoryStream streamOf(Fd directory) noexcept;

// The next entry but "." and ".."; null at the end. Valid until the next call.
const dirent* nextEntry(DIR* stream) noexcept;

// The mount that what is open lies on: a bind mount of the same file system is another one. 0 where the
// kernel does not tell (before Linux 5.8).
std::uint64_t mountOf(int descriptor) noexcept;

}  // namespace factionos::sandbox
