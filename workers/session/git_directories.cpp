#include "workers/session/git_directories.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fcntl.h>

#include "sandbox/entries.h"
#include "workers/session/resolve.h"

namespace factionos::session {
namespace {

// Of a repository, where no other lies unless it is called so: directly in an area any name is a
// repository's, or begins one, and further down it tells by what it holds. A command could put that there,
// too, and has more kept then, not less; what is kept it can't take away.
constexpr std::array<std::string_view, 8> kOwnParts = {"objects", "refs", "logs",     "info",
                                                       "hooks",   "lfs",  "rr-cache", "branches"};

bool isOneOf(const auto& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

bool holdsSettings(int workspace, const std::string& path) {
  return std::ranges::any_of(kGitSettings, [&](std::string_view name) {
    return static_cast<bool>(openBeneath(workspace, path + "/" + std::string(name), O_PATH | O_NOFOLLOW));
  });
}

std::vector<std::string> subdirectories(int workspace, const std::string& path) {
  const bool isArea = isOneOf(kGitAreas, std::string_view(path).substr(path.rfind('/') + 1));
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(workspace, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (!stream) return {};
  std::vector<std::string> found;
  while (const dirent* entry = sandbox::nextEntry(stream.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    const bool directoryPerhaps = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    if (!directoryPerhaps) continue;
    std::string below = path + "/" + std::string(name);
    if (isArea || !isOneOf(kOwnParts, name) || holdsSettings(workspace, below))
      found.push_back(std::move(below));
  }
  return found;
}

}  // namespace

std::optional<std::vector<std::string>> gitDirectories(int workspace, const std::string& git,
                                                       std::size_t most) {
  std::vector<std::string> found = {git};
  std::vector<std::string> open = {git + "/modules", git + "/worktrees"};
  while (!open.empty()) {
    const std::string path = std::move(open.back());
    open.pop_back();
    for (std::string& below : subdirectories(workspace, path)) {
      if (found.size() > most) return std::nullopt;
      found.push_back(below);
      open.push_back(std::move(below));
    }
  }
  return found;
}

}  // namespace factionos::session
