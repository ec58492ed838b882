#include "sandbox/workspace.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/entries.h"

namespace factionos::sandbox {
namespace {

// PATH_MAX / 2: a path of one-letter components. A deeper chain was built with openat to wear us out.
constexpr std::size_t kDeepest = PATH_MAX / 2;

// Absolute, without "." and "..", whose meaning depends on links before them; as the table of mounts writes
// it.
std::optional<std::string> normalPath(const std::string& path) {
  if (!path.starts_with('/') || path.size() >= PATH_MAX || path.find('\0') != std::string::npos)
    return std::nullopt;
  if (path.find("/../") != std::string::npos || path.ends_with("/..")) return std::nullopt;
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal.starts_with("//") ? normal.substr(1) : normal;
}

// The kernel is asked, so that ACLs and groups count as they do for the process itself.
std::optional<WorkspaceRule> accessRule(int directory, const struct stat& status) {
  const bool openToEverybody = (status.st_mode & S_IWOTH) != 0;
  if (openToEverybody && status.st_uid != geteuid()) return WorkspaceRule::kForeignOwner;
  if (faccessat(directory, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) return WorkspaceRule::kNoAccess;
  return std::nullopt;
}

}  // namespace

WorkspaceRule ruleOf(int error) {
  if (error == ENOENT) return WorkspaceRule::kNotFound;
  if (error == ENOTDIR) return WorkspaceRule::kNotDirectory;
  if (error == ELOOP) return WorkspaceRule::kSymlink;
  if (error == EACCES) return WorkspaceRule::kNoAccess;
  return WorkspaceRule::kBadPath;
}

std::optional<WorkspaceRules::Identity> WorkspaceRules::identityOf(int descriptor) {
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) return std::nullopt;
  return Identity{status.st_dev, status.st_ino};
}

bool WorkspaceRules::has(const Chain& chain, const Identity& identity) {
  return std::ranges::find(chain, identity) != chain.end();
}

WorkspaceRules::Chain WorkspaceRules::chainOf(int directory) {
  Chain chain;
  Fd parent;
  while (chain.size() <= kDeepest) {
    const int at = parent ? parent.get() : directory;
    const std::optional<Identity> identity = identityOf(at);
    if (!identity) return {};
    if (!chain.empty() && chain.back() == *identity) return chain;  // only the root is its own parent
    chain.push_back(*identity);
    parent = Fd(openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return {};
}

WorkspaceRules WorkspaceRules::gather(int home, WorkspaceSources sources) {
  WorkspaceRules rules;
  rules.sources_ = std::move(sources);
  const Fd mounts = openFile(rules.sources_.mountInfo.c_str(), O_RDONLY);
  rules.addHome(home);
  rules.addSystemDirectories();
  rules.addUserHomes();
  return rules;
}

void WorkspaceRules::addHome(int home) {
  home_ = chainOf(home);
  if (home_.empty())
    throw std::system_error(EACCES, std::generic_category(),
                            "the directories above the home can't be searched");
  const DirectoryStream entries = streamOf(Fd(openat(home, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!entries) throw std::system_error(errno, std::generic_category(), "the home can't be read");
  while (const dirent* entry = nextEntry(entries.get())) {
    const Fd folder(openat(home, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (const auto identity = identityOf(folder.get())) homeFolders_.push_back(*identity);
  }
}

std::optional<WorkspaceRule> WorkspaceRules::relation(const Chain& chain, Use use) const {
  const Identity& self = chain.front();
  if (chain.size() == 1) return WorkspaceRule::kRoot;
  if (self == home_.front()) return WorkspaceRule::kIsHome;
  if (has(home_, self)) return WorkspaceRule::kContainsHome;
  const auto within = [&chain](const Identity& identity) { return has(chain, identity); };
  if (within(home_.front()) || std::ranges::any_of(homeFolders_, within)) return WorkspaceRule::kInsideHome;
  const auto holdsSelf = [&self](const Chain& home) { return has(home, self); };
  if (std::ranges::any_of(ownHomes_, holdsSelf) || has(otherHomes_, self)) return WorkspaceRule::kUserHome;
  const auto applies = [use](const Forbidden& each) { return use == Use::kWorkspace || each.alsoForReading; };
  for (const Forbidden& tree : trees_) {
    if (applies(tree) && within(tree.identity)) return tree.rule;
  }
  for (const Forbidden& directory : single_) {
    if (applies(directory) && directory.identity == self) return directory.rule;
  }
  return std::nullopt;
}

std::optional<WorkspaceRule> WorkspaceRules::judge(int directory) const {
  struct stat status {};
  if (fstat(directory, &status) != 0) return WorkspaceRule::kBadPath;
  if (!S_ISDIR(status.st_mode)) return WorkspaceRule::kNotDirectory;
  const Chain chain = chainOf(directory);
  if (chain.empty()) return WorkspaceRule::kNoAccess;
  if (const auto rule = relation(chain, Use::kWorkspace)) return rule;
  return accessRule(directory, status);
}

std::variant<Fd, WorkspaceRule> WorkspaceRules::open(const std::string& path, Use use) const {
  const std::optional<std::string> normal = normalPath(path);
  if (!normal) return WorkspaceRule::kBadPath;
  open_how how{};
  how.flags = static_cast<unsigned>(O_PATH | O_DIRECTORY | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  Fd directory(static_cast<int>(syscall(SYS_openat2, AT_FDCWD, normal->c_str(), &how, sizeof how)));
  if (!directory) return ruleOf(errno);
  if (use == Use::kWorkspace) {
    if (const auto rule = judge(directory.get())) return *rule;
  } else {
    const Chain chain = chainOf(directory.get());
    if (chain.empty()) return WorkspaceRule::kNoAccess;
    if (const auto rule = relation(chain, use)) return *rule;
  }
  if (mountShowsHome(*normal)) return WorkspaceRule::kContainsHome;
  return directory;
}

std::variant<Fd, WorkspaceRule> WorkspaceRules::open(const std::string& path) const {
  return open(path, Use::kWorkspace);
}

std::variant<Fd, WorkspaceRule> WorkspaceRules::openReadable(const std::string& path) const {
  return open(path, Use::kReadable);
}

}  // namespace factionos::sandbox
