#include "workers/session/system_paths.h"

#include <algorithm>

namespace factionos::session {
namespace {

bool isAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool isSystemProgram(std::string_view path) {
  return std::ranges::any_of(systemDirectories(), [path](const SystemDirectory& directory) {
    return directory.programs == Programs::kYes && isWithin(path, directory.path);
  });
}

bool isLabel(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  if (text.empty() || text.size() > kLongest || !isAlphanumeric(text.front())) return false;
  return std::ranges::all_of(text, [](char c) {
    return isAlphanumeric(c) || std::string_view(" ._:@+/-").find(c) != std::string_view::npos;
  });
}

}  // namespace factionos::session
