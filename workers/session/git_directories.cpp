#include "workers/session/git_directories.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fcntl.h>

#include "sandbox/entries.h"
#include "workers/session/resolve.h"

namespace factionos::session {
namespace {

// Of a repository, where no other can lie. By name: a mark that a command could put there, such as a HEAD,
// must not hide what lies below.
constexpr std::array<std::string_view, 8> kOwnParts = {"objects", "refs", "logs",     "info",
                                                       "hooks",   "lfs",  "rr-cache", "branches"};

std::vector<std::string> subdirectories(int workspace, const std::string& path) {
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(workspace, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (!stream) return {};
  std::vector<std::string> found;
  while (const dirent* entry = sandbox::nextEntry(stream.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    const bool directoryPerhaps = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    if (directoryPerhaps && std::ranges::find(kOwnParts, name) == kOwnParts.end())
      found.push_back(path + "/" + std::string(name));
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
