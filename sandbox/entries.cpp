#include "sandbox/entries.h"

#include <string_view>

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

}  // namespace factionos::sandbox
