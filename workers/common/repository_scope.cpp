#include "workers/common/repository_scope.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace factionos::worker {
namespace {

constexpr std::array<std::pair<std::string_view, Access>, 3> kNames = {
    {{"read", Access::kRead}, {"write", Access::kWrite}, {"push", Access::kPush}}};
using Name = std::pair<std::string_view, Access>;

}  // namespace

std::vector<std::string> encode(const RepositoryScope& scope) {
  const auto* name = std::ranges::find(kNames, scope.access, &Name::second);
  return {std::string(name->first), std::to_string(scope.directories)};
}

std::optional<RepositoryScope> parseRepositoryScope(std::span<const char* const> arguments) {
  if (arguments.size() != 2) return std::nullopt;
  const auto* name = std::ranges::find(kNames, std::string_view(arguments[0]), &Name::first);
  const std::string_view count = arguments[1];
  if (name == kNames.end()) return std::nullopt;
  RepositoryScope scope{name->second, 0};
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), scope.directories);
  const bool whole = error == std::errc() && end == count.data() + count.size();
  if (!whole || scope.directories == 0 || scope.directories > kMostRoots + 1) return std::nullopt;
  return scope;
}

}  // namespace factionos::worker
