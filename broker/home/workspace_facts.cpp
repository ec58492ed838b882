#include "broker/home/workspace_facts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace factionos::home {
namespace {

// PATH_MAX / 2: a path of one-letter components. A deeper chain was built with openat to wear us out.
constexpr std::size_t kMaxDepth = 2048;
// Where distributions start to count people (login.defs UID_MIN); below are services whose "homes" are data
// folders.
constexpr uid_t kFirstPerson = 1000;
constexpr uid_t kNobody = 65534;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct Listed {
  const char* path;
  WorkspaceRule rule;
  ClosedTo closedTo;
};

constexpr auto kSystem = WorkspaceRule::kSystemDirectory;
constexpr auto kSocket = WorkspaceRule::kSocketDirectory;

// Programs, libraries, configuration and the kernel's own file systems: nothing in them is anybody's project.
constexpr std::array kTrees{
    Listed{"/usr", kSystem, ClosedTo::kWorkspaces},
    Listed{"/bin", kSystem, ClosedTo::kWorkspaces},
    Listed{"/sbin", kSystem, ClosedTo::kWorkspaces},
    Listed{"/lib", kSystem, ClosedTo::kWorkspaces},
    Listed{"/lib32", kSystem, ClosedTo::kWorkspaces},
    Listed{"/lib64", kSystem, ClosedTo::kWorkspaces},
    Listed{"/libx32", kSystem, ClosedTo::kWorkspaces},
    Listed{"/etc", kSystem, ClosedTo::kWorkspaces},
    Listed{"/boot", kSystem, ClosedTo::kEverything},
    Listed{"/dev", kSystem, ClosedTo::kEverything},
    Listed{"/proc", kSystem, ClosedTo::kEverything},
    Listed{"/sys", kSystem, ClosedTo::kEverything},
    Listed{"/lost+found", kSystem, ClosedTo::kEverything},
    Listed{"/run", kSocket, ClosedTo::kEverything},
    Listed{"/var/run", kSocket, ClosedTo::kEverything},
    // Sockets that give the session away lie here: the X server's, the one of ICE, and the ones of ssh agents
    // do too, but in directories with random names that belong to one user and are no workspace by their
    // mode.
    Listed{"/tmp/.X11-unix", kSocket, ClosedTo::kEverything},
    Listed{"/tmp/.ICE-unix", kSocket, ClosedTo::kEverything},
};

// Shared by everybody, or the parents of what is: a project may lie below, but isn't the whole of it.
constexpr std::array kSingle{
    Listed{"/tmp", kSystem, ClosedTo::kEverything},     Listed{"/var/tmp", kSystem, ClosedTo::kEverything},
    Listed{"/var", kSystem, ClosedTo::kEverything},     Listed{"/var/lib", kSystem, ClosedTo::kEverything},
    Listed{"/var/log", kSystem, ClosedTo::kEverything}, Listed{"/home", kSystem, ClosedTo::kEverything},
    Listed{"/root", kSystem, ClosedTo::kEverything},    Listed{"/opt", kSystem, ClosedTo::kWorkspaces},
    Listed{"/srv", kSystem, ClosedTo::kWorkspaces},     Listed{"/mnt", kSystem, ClosedTo::kWorkspaces},
    Listed{"/media", kSystem, ClosedTo::kWorkspaces},
};

bool contains(const std::vector<DirectoryId>& ids, const DirectoryId& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// mountinfo writes space, tab, newline and backslash as three octal digits (proc(5)).
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out.push_back(
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

UniqueFd openPath(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::optional<DirectoryId> idOf(int fd) {
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0) return std::nullopt;
  return DirectoryId{status.st_dev, status.st_ino};
}

std::vector<DirectoryId> chainOf(int directory) {
  std::vector<DirectoryId> chain;
  auto id = idOf(directory);
  if (!id) return {};
  chain.push_back(*id);
  UniqueFd current;
  while (chain.size() <= kMaxDepth) {
    const int from = current ? current.get() : directory;
    UniqueFd parent(::openat(from, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    id = idOf(parent.get());
    if (!id) return {};
    if (*id == chain.back()) return chain;  // only the root is its own parent
    chain.push_back(*id);
    current = std::move(parent);
  }
  return {};
}

GuardSources GuardSources::fromProcess() {
  GuardSources sources;
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    sources.ownHomes.emplace_back(home);
  std::vector<char> buffer(16 * 1024);
  struct passwd entry {};
  struct passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    sources.ownHomes.emplace_back(found->pw_dir);
  }
  return sources;
}

void WorkspaceGuard::Facts::addSystemDirectories() {
  const auto add = [](const Listed& listed, std::vector<ForbiddenDirectory>& to) {
    if (auto id = idOf(openPath(listed.path).get())) to.push_back({*id, listed.rule, listed.closedTo});
  };
  for (const Listed& listed : kTrees) add(listed, trees);
  for (const Listed& listed : kSingle) add(listed, single);
}

void WorkspaceGuard::Facts::addUserHomes(const GuardSources& sources) {
  for (const std::string& path : sources.ownHomes) {
    const UniqueFd directory = openPath(path);
    if (auto chain = chainOf(directory.get()); !chain.empty()) ownHomes.push_back(std::move(chain));
  }
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(sources.passwdFile.c_str(), "re"));
  std::vector<char> buffer(16 * 1024);
  struct passwd entry {};
  struct passwd* found = nullptr;
  while (file && ::fgetpwent_r(file.get(), &entry, buffer.data(), buffer.size(), &found) == 0) {
    const bool person = entry.pw_uid == 0 || (entry.pw_uid >= kFirstPerson && entry.pw_uid != kNobody);
    if (!person) continue;
    if (auto id = idOf(openPath(entry.pw_dir).get())) otherHomes.push_back(*id);
  }
}

std::optional<WorkspaceRule> WorkspaceGuard::Facts::relation(const std::vector<DirectoryId>& chain,
                                                             Use use) const {
  const DirectoryId& self = chain.front();
  if (chain.size() == 1) return WorkspaceRule::kRoot;
  if (self == homeChain.front()) return WorkspaceRule::kIsHome;
  if (contains(homeChain, self)) return WorkspaceRule::kContainsHome;
  if (contains(chain, homeChain.front())) return WorkspaceRule::kInsideHome;
  for (const DirectoryId& folder : homeFolders) {  // a folder of the home mounted elsewhere
    if (contains(chain, folder)) return WorkspaceRule::kInsideHome;
  }
  for (const auto& ownHome : ownHomes) {
    if (contains(ownHome, self)) return WorkspaceRule::kUserHome;
  }
  if (contains(otherHomes, self)) return WorkspaceRule::kUserHome;
  const auto applies = [use](const ForbiddenDirectory& forbidden) {
    return use == Use::kWorkspace || forbidden.closedTo == ClosedTo::kEverything;
  };
  for (const ForbiddenDirectory& tree : trees) {
    if (applies(tree) && contains(chain, tree.id)) return tree.rule;
  }
  for (const ForbiddenDirectory& directory : single) {
    if (applies(directory) && directory.id == self) return directory.rule;
  }
  return std::nullopt;
}

bool WorkspaceGuard::Facts::mountShowsHome(const std::string& path) const {
  const auto table = readAgain(mountInfo.get());
  if (!table) return true;
  for (const std::string& point : mountsBelow(*table, path)) {
    const auto id = idOf(openPath(point).get());
    if (id && (contains(homeChain, *id) || contains(homeFolders, *id))) return true;
  }
  return false;
}

std::vector<std::string> mountsBelow(const std::string& mountInfo, const std::string& path) {
  std::vector<std::string> found;
  std::istringstream file(mountInfo);
  const std::string prefix = path + "/";
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;  // the fifth is the mount point
    std::string point = unescaped(field);
    if (point.starts_with(prefix)) found.push_back(std::move(point));
  }
  return found;
}

std::optional<std::string> readAgain(int fd) {
  constexpr std::size_t kMostBytes =
      16 * 1024 * 1024;  // some 100,000 mounts, which is the kernel's own limit
  if (::lseek(fd, 0, SEEK_SET) != 0) return std::nullopt;
  std::string text;
  std::array<char, 16 * 1024> buffer{};
  while (text.size() < kMostBytes) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

}  // namespace factionos::home
