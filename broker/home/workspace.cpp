#include "broker/home/workspace.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/home/workspace_facts.h"

namespace factionos::home {
namespace {

WorkspaceRule ruleOfErrno(int error) {
  if (error == ENOENT) return WorkspaceRule::kNotFound;
  if (error == ENOTDIR) return WorkspaceRule::kNotDirectory;
  if (error == ELOOP) return WorkspaceRule::kSymlink;
  if (error == EACCES) return WorkspaceRule::kNoAccess;
  return WorkspaceRule::kBadPath;
}

// Component by component, since O_NOFOLLOW looks at the last one alone.
std::variant<UniqueFd, WorkspaceRule> openWithoutLinks(const std::string& path) {
  UniqueFd current = openPath("/");
  for (const auto& component : std::filesystem::path(path).relative_path()) {
    if (component.empty()) continue;  // a trailing slash
    UniqueFd next(::openat(current.get(), component.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return ruleOfErrno(errno);
    struct stat status {};
    if (::fstat(next.get(), &status) != 0) return WorkspaceRule::kBadPath;
    if (S_ISLNK(status.st_mode)) return WorkspaceRule::kSymlink;
    if (!S_ISDIR(status.st_mode)) return WorkspaceRule::kNotDirectory;
    current = std::move(next);
  }
  return current;
}

bool usablePath(std::string_view path) {
  return path.starts_with('/') && path.size() < PATH_MAX && path.find('\0') == std::string_view::npos;
}

std::variant<std::string, WorkspaceRule> resolved(const std::string& path, PathForm form) {
  if (form == PathForm::kTyped) {
    char buffer[PATH_MAX];
    if (::realpath(path.c_str(), buffer) == nullptr) return ruleOfErrno(errno);
    return std::string(buffer);
  }
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  const bool dots = path.find("/../") != std::string::npos || path.ends_with("/..");
  if (dots) return WorkspaceRule::kBadPath;  // what ".." means depends on links before it
  return normal;
}

// The kernel is asked, so that ACLs and groups count as they do for the broker itself.
std::optional<WorkspaceRule> accessRule(int directory, const struct stat& status) {
  const bool openToEverybody = (status.st_mode & S_IWOTH) != 0;
  if (openToEverybody && status.st_uid != ::geteuid()) return WorkspaceRule::kForeignOwner;
  if (::faccessat(directory, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) return WorkspaceRule::kNoAccess;
  return std::nullopt;
}

}  // namespace

WorkspaceGuard::WorkspaceGuard(std::unique_ptr<Facts> facts) : facts_(std::move(facts)) {}
WorkspaceGuard::WorkspaceGuard(WorkspaceGuard&&) noexcept = default;
WorkspaceGuard& WorkspaceGuard::operator=(WorkspaceGuard&&) noexcept = default;
WorkspaceGuard::~WorkspaceGuard() = default;

Result<WorkspaceGuard> WorkspaceGuard::create(const Home& home, const GuardSources& sources) {
  auto facts = std::make_unique<Facts>();
  facts->mountInfo = UniqueFd(::open(sources.mountInfo.c_str(), O_RDONLY | O_CLOEXEC));
  if (!facts->mountInfo) {
    return Problem{ProblemCode::kIo, "the table of mounts can't be read", "mount /proc"};
  }
  facts->homeChain = chainOf(home.fd(Folder::kTop));
  if (facts->homeChain.empty()) {
    return Problem{ProblemCode::kUnsafe, "the directories above the home can't be looked at",
                   "give the broker's user the right to search them"};
  }
  for (const Folder folder : {Folder::kState, Folder::kRun, Folder::kSpool, Folder::kTokens}) {
    if (auto id = idOf(home.fd(folder))) facts->homeFolders.push_back(*id);
  }
  facts->addSystemDirectories();
  facts->addUserHomes(sources);
  return WorkspaceGuard(std::move(facts));
}

std::optional<WorkspaceRefusal> WorkspaceGuard::check(int directory) const {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return refuse(WorkspaceRule::kBadPath);
  if (!S_ISDIR(status.st_mode)) return refuse(WorkspaceRule::kNotDirectory);
  const std::vector<DirectoryId> chain = chainOf(directory);
  if (chain.empty()) return refuse(WorkspaceRule::kNoAccess);
  if (auto rule = facts_->relation(chain, Use::kWorkspace)) return refuse(*rule);
  if (auto rule = accessRule(directory, status)) return refuse(*rule);
  return std::nullopt;
}

std::variant<CheckedWorkspace, WorkspaceRefusal> WorkspaceGuard::check(std::string_view path,
                                                                       PathForm form) const {
  if (!usablePath(path)) return refuse(WorkspaceRule::kBadPath);
  auto location = resolved(std::string(path), form);
  if (const auto* rule = std::get_if<WorkspaceRule>(&location)) return refuse(*rule);
  auto opened = openWithoutLinks(std::get<std::string>(location));
  if (const auto* rule = std::get_if<WorkspaceRule>(&opened)) return refuse(*rule);
  CheckedWorkspace workspace{std::get<UniqueFd>(std::move(opened)),
                             std::get<std::string>(std::move(location))};
  if (auto refusal = check(workspace.fd.get())) return *std::move(refusal);
  if (facts_->mountShowsHome(workspace.path)) return refuse(WorkspaceRule::kContainsHome);
  const auto id = idOf(workspace.fd.get());
  if (!id) return refuse(WorkspaceRule::kBadPath);
  workspace.device = id->device;
  workspace.inode = id->inode;
  return workspace;
}

std::optional<WorkspaceRefusal> WorkspaceGuard::checkProfileDirectory(std::string_view path) const {
  if (!usablePath(path)) return refuse(WorkspaceRule::kBadPath);
  auto location = resolved(std::string(path), PathForm::kStored);
  if (const auto* rule = std::get_if<WorkspaceRule>(&location)) return refuse(*rule);
  auto opened = openWithoutLinks(std::get<std::string>(location));
  if (const auto* rule = std::get_if<WorkspaceRule>(&opened)) return refuse(*rule);
  const std::vector<DirectoryId> chain = chainOf(std::get<UniqueFd>(opened).get());
  if (chain.empty()) return refuse(WorkspaceRule::kNoAccess);
  if (auto rule = facts_->relation(chain, Use::kProfileDirectory)) return refuse(*rule);
  if (facts_->mountShowsHome(std::get<std::string>(location))) return refuse(WorkspaceRule::kContainsHome);
  return std::nullopt;
}

}  // namespace factionos::home
