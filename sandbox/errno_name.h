// How an errno is called wherever one is shown.
#pragma once

#include <cstring>
#include <string_view>

namespace factionos::sandbox {

// "EACCES"; "unknown" for a number that libc has no name for, which strerrorname_np() answers with a null
// pointer.
inline std::string_view errnoName(int error) {
  const char* const name = strerrorname_np(error);
  return name != nullptr ? name : "unknown";
}

}  // namespace factionos::sandbox
