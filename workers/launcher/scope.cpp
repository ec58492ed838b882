#include "workers/launcher/scope.h"

#include <cerrno>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
  open.opened.push_back(std::get<sandbox::Fd>(std::move(workspace)));
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
  open.arguments = worker::encode({*access, static_cast<unsigned>(open.opened.size())});
  return nullptr;
}

}  // namespace

std::vector<int> OpenScope::numbers() const {
  std::vector<int> found;
  for (const sandbox::Fd& each : opened) found.push_back(each.get());
  return found;
}

const char* openScope(schema::WorkerScope::Reader scope, ScopeKind kind, const sandbox::WorkspaceRules& rules,
                      OpenScope& open) {
  switch (kind) {
    case ScopeKind::kNone:
    case ScopeKind::kProgram:
      return scope.isNone() ? nullptr : kNotOfThisRole;
    case ScopeKind::kWorkspace:
      return scope.isWorkspace() ? openWorkspace(scope.getWorkspace(), rules, open) : kNotOfThisRole;
    case ScopeKind::kRepository:
      return scope.isRepository() ? openRepository(scope.getRepository(), rules, open) : kNotOfThisRole;
  }
  return kNotOfThisRole;
}

const char* openProgram(const std::string& path, OpenScope& open) {
  if (path.empty()) return "program_unknown";
  sandbox::Fd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!file) return errno == ENOENT || errno == ENOTDIR ? "program_missing" : "program_untrusted";
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return "program_untrusted";
  const bool executable = S_ISREG(status.st_mode) && (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
  const bool ours = status.st_uid == 0 || status.st_uid == getuid();
  if (!executable || !ours || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "program_untrusted";
  open.opened.push_back(std::move(file));
  return nullptr;
}

}  // namespace factionos::launcher
