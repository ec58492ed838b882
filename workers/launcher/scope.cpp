#include "workers/launcher/scope.h"

#include <variant>

#include "workers/common/repository_scope.h"

namespace factionos::launcher {

const char* const kNotOfThisRole = "role_table";

namespace {

std::string textOf(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

const char* openWorkspace(capnp::Text::Reader path, const sandbox::WorkspaceRules& rules, OpenScope& open) {
  std::variant<sandbox::Fd, sandbox::WorkspaceRule> workspace = rules.open(textOf(path));
  if (const auto* rule = std::get_if<sandbox::WorkspaceRule>(&workspace)) return label(*rule);
  open.directories.push_back(std::get<sandbox::Fd>(std::move(workspace)));
  return nullptr;
}

std::optional<worker::Access> accessOf(schema::RepositoryAccess access) {
  switch (access) {
    case schema::RepositoryAccess::READ:
      return worker::Access::kRead;
    case schema::RepositoryAccess::WRITE:
      return worker::Access::kWrite;
    case schema::RepositoryAccess::PUSH:
      return worker::Access::kPush;
  }
  return std::nullopt;
}

const char* openRepository(schema::RepositoryScope::Reader scope, const sandbox::WorkspaceRules& rules,
                           OpenScope& open) {
  if (scope.getRoots().size() > worker::kMostRoots) return "too_many_roots";
  if (const char* rule = openWorkspace(scope.getWorkspace(), rules, open)) return rule;
  for (const auto root : scope.getRoots()) openWorkspace(root, rules, open);
  const auto access = accessOf(scope.getAccess());
  if (!access) return "access_unknown";
  open.arguments = worker::encode({*access, static_cast<unsigned>(open.directories.size())});
  return nullptr;
}

}  // namespace

std::vector<int> OpenScope::numbers() const {
  std::vector<int> found;
  for (const sandbox::Fd& directory : directories) found.push_back(directory.get());
  return found;
}

const char* openScope(schema::WorkerScope::Reader scope, ScopeKind kind, const sandbox::WorkspaceRules& rules,
                      OpenScope& open) {
  switch (kind) {
    case ScopeKind::kNone:
      return scope.isNone() ? nullptr : kNotOfThisRole;
    case ScopeKind::kWorkspace:
      return scope.isWorkspace() ? openWorkspace(scope.getWorkspace(), rules, open) : kNotOfThisRole;
    case ScopeKind::kRepository:
      return scope.isRepository() ? openRepository(scope.getRepository(), rules, open) : kNotOfThisRole;
  }
  return kNotOfThisRole;
}

}  // namespace factionos::launcher
