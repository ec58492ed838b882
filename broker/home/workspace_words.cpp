#include "broker/home/workspace_facts.h"

namespace factionos::home {
namespace {

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

}  // namespace

WorkspaceRefusal refuse(WorkspaceRule rule) {
  const Words words = wordsFor(rule);
  return {rule, {ProblemCode::kRefused, words.message, words.remedy}};
}

const char* label(WorkspaceRule rule) {
  switch (rule) {
    case WorkspaceRule::kBadPath:
      return "bad_path";
    case WorkspaceRule::kNotFound:
      return "not_found";
    case WorkspaceRule::kNotDirectory:
      return "not_directory";
    case WorkspaceRule::kSymlink:
      return "symlink";
    case WorkspaceRule::kRoot:
      return "root";
    case WorkspaceRule::kIsHome:
      return "is_home";
    case WorkspaceRule::kContainsHome:
      return "contains_home";
    case WorkspaceRule::kInsideHome:
      return "inside_home";
    case WorkspaceRule::kUserHome:
      return "user_home";
    case WorkspaceRule::kSystemDirectory:
      return "system_directory";
    case WorkspaceRule::kSocketDirectory:
      return "socket_directory";
    case WorkspaceRule::kForeignOwner:
      return "foreign_owner";
    case WorkspaceRule::kNoAccess:
      return "no_access";
  }
  return "";
}

}  // namespace factionos::home
