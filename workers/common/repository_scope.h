// What a git worker is told on its command line of the directories that it was started with.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace factionos::worker {

enum class Access { kRead, kWrite, kPush };  // kPush: also what a local remote receives

inline constexpr unsigned kMostRoots = 32;  // beside the workspace

struct RepositoryScope {
  Access access = Access::kRead;
  unsigned directories = 0;  // from kScope on: the workspace, then where else the repository may reach
};

std::vector<std::string> encode(const RepositoryScope& scope);
std::optional<RepositoryScope> parseRepositoryScope(std::span<const char* const> arguments);

}  // namespace factionos::worker
