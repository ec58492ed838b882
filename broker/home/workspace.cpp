#include "broker/home/workspace.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace factionos::home {
namespace {

using sandbox::WorkspaceRule;

struct Words {
  const char* message;
  const char* remedy;
};

Words wordsFor(WorkspaceRule rule) {
  constexpr const char* kBelow = "choose a project's own directory";
  switch (rule) {
    case WorkspaceRule::kBadPath:
      return {"the path is not usable", "give an absolute path"};
    case WorkspaceRule::kNotFound:
      return {"there is nothing at this path", "make the directory first"};
    case WorkspaceRule::kNotDirectory:
      return {"this is not a directory", kBelow};
    case WorkspaceRule::kSymlink:
      return {"the path leads through a symbolic link",
              "write the resolved path into config.toml (realpath shows it)"};
    case WorkspaceRule::kRoot:
      return {"the root directory can't be a workspace", kBelow};
    case WorkspaceRule::kIsHome:
      return {"this is FactionOS's own home", kBelow};
    case WorkspaceRule::kContainsHome:
      return {"FactionOS's own home lies in this directory",
              "choose a directory that does not hold the home"};
    case WorkspaceRule::kInsideHome:
      return {"this lies in FactionOS's own home", kBelow};
    case WorkspaceRule::kUserHome:
      return {"this is a user's home directory, or holds one", kBelow};
    case WorkspaceRule::kSystemDirectory:
      return {"this is a directory of the system", kBelow};
    case WorkspaceRule::kSocketDirectory:
      return {"this is a directory of sockets", kBelow};
    case WorkspaceRule::kForeignOwner:
      return {"this belongs to another user and is open to everybody",
              "have its owner run: chmod o-w on it, and grant access by ACL or group"};
    case WorkspaceRule::kNoAccess:
      return {"the broker's user may not read, write and search this directory",
              "grant it: setfacl -R -m u:USER:rwX -m d:u:USER:rwX on it, with the broker's user"};
  }
  return {"this can't be a workspace", kBelow};
}

WorkspaceRefusal refuse(WorkspaceRule rule) {
  const Words words = wordsFor(rule);
  return {rule, {ProblemCode::kRefused, words.message, words.remedy}};
}

}  // namespace

Result<WorkspaceGuard> WorkspaceGuard::create(const Home& home, sandbox::WorkspaceSources sources) {
  try {
    auto rules = sandbox::WorkspaceRules::gather(home.fd(Folder::kTop), std::move(sources));
    if (const auto listed = rules.listedDirectoryShowsHome()) {
      return Problem{
          ProblemCode::kRefused,
          "a mount below " + std::string(*listed) + " shows the home, and every command may read there",
          "unmount it, or mount the home elsewhere"};
    }
    return WorkspaceGuard(std::move(rules));
  } catch (const std::system_error&) {
    return Problem{
        ProblemCode::kUnsafe, "the directories above the home, or the table of mounts, can't be looked at",
        "mount /proc, and give the broker's user the right to search the directories above the home"};
  }
}

std::variant<CheckedWorkspace, WorkspaceRefusal> WorkspaceGuard::checkStored(std::string_view path) const {
  std::string stored(path);
  auto opened = rules_.open(stored);
  if (const auto* rule = std::get_if<WorkspaceRule>(&opened)) return refuse(*rule);
  return CheckedWorkspace{std::get<sandbox::Fd>(std::move(opened)), std::move(stored)};
}

std::variant<CheckedWorkspace, WorkspaceRefusal> WorkspaceGuard::checkTyped(std::string_view path) const {
  if (!path.starts_with('/') || path.size() >= PATH_MAX || path.find('\0') != std::string_view::npos)
    return refuse(WorkspaceRule::kBadPath);
  char resolved[PATH_MAX];
  if (realpath(std::string(path).c_str(), resolved) == nullptr) return refuse(sandbox::ruleOf(errno));
  return checkStored(resolved);
}

std::optional<WorkspaceRefusal> WorkspaceGuard::checkProfileDirectory(std::string_view path) const {
  const auto opened = rules_.openReadable(std::string(path));
  const auto* rule = std::get_if<WorkspaceRule>(&opened);
  return rule != nullptr ? std::optional(refuse(*rule)) : std::nullopt;
}

}  // namespace factionos::home
