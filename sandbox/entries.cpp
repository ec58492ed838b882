#include "sandbox/entries.h"

#include <string_view>

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>

namespace factionos::sandbox {

DirectoryStream streamOf(Fd directory) noexcept {
  DirectoryStream stream(directory ? fdopendir(directory.get()) : nullptr);
  if (stream) static_cast<void>(directory.release());  // the stream closes it
  return stream;
}

const dirent* nextEntry(DIR* stream) noexcept {
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != "..") return entry;
  }
  return nullptr;
}

std::uint64_t mountOf(int descriptor) noexcept {
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) != 0) return 0;
  return status.stx_mnt_id;
}

}  // namespace factionos::sandbox
