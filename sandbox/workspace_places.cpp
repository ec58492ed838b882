// What a workspace may not be, as places: the system's directories, users' homes, second mounts of our own.
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

#include "sandbox/system_paths.h"
#include "sandbox/workspace.h"

namespace factionos::sandbox {
namespace {

// Where distributions start to count people (login.defs UID_MIN); below are services whose "homes" are data
// folders.
constexpr uid_t kFirstPerson = 1000;
constexpr uid_t kNobody = 65534;

// Some 100,000 mounts, which is the kernel's own limit.
constexpr std::size_t kMostMountBytes = std::size_t{16} * 1024 * 1024;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

enum class ClosedTo {
  kWorkspaces,  // programs and data that commands may read lie there
  kEverything,
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
    // Sockets that give the session away lie here: the X server's, the one of ICE. The ones of ssh agents do
    // too, but in directories with random names that belong to one user and are no workspace by their mode.
    Listed{"/tmp/.X11-unix", kSocket, ClosedTo::kEverything},
    Listed{"/tmp/.ICE-unix", kSocket, ClosedTo::kEverything},
};

// Shared by everybody, or the parents of what is: a project may lie below, but isn't the whole of it.
constexpr std::array kSingle{
    Listed{"/tmp", kSystem, ClosedTo::kEverything},
    Listed{"/var/tmp", kSystem, ClosedTo::kEverything},
    Listed{"/var", kSystem, ClosedTo::kEverything},
    Listed{"/var/lib", kSystem, ClosedTo::kEverything},
    Listed{"/var/log", kSystem, ClosedTo::kEverything},
    Listed{"/var/cache", kSystem, ClosedTo::kEverything},
    Listed{"/home", kSystem, ClosedTo::kEverything},
    Listed{"/var/spool", kSystem, ClosedTo::kEverything},
    Listed{"/root", kSystem, ClosedTo::kEverything},
    Listed{"/opt", kSystem, ClosedTo::kWorkspaces},
    Listed{"/srv", kSystem, ClosedTo::kWorkspaces},
    Listed{"/mnt", kSystem, ClosedTo::kWorkspaces},
    Listed{"/media", kSystem, ClosedTo::kWorkspaces},
    Listed{"/nix", kSystem, ClosedTo::kWorkspaces},
    Listed{"/nix/store", kSystem, ClosedTo::kWorkspaces},
    Listed{"/snap", kSystem, ClosedTo::kWorkspaces},
};

Fd openDirectory(const char* path) {
  return Fd(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
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

std::optional<std::string> readWhole(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, std::size_t{16} * 1024> buffer{};
  while (file && text.size() < kMostMountBytes) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

}  // namespace

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
  return "unknown";
}

WorkspaceSources WorkspaceSources::fromProcess() {
  WorkspaceSources sources;
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    sources.ownHomes.emplace_back(home);
  std::vector<char> buffer(std::size_t{16} * 1024);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    sources.ownHomes.emplace_back(found->pw_dir);
  return sources;
}

void WorkspaceRules::addSystemDirectories() {
  const auto add = [](const Listed& listed, std::vector<Forbidden>& to) {
    if (const auto identity = identityOf(openDirectory(listed.path).get()))
      to.push_back({*identity, listed.rule, listed.closedTo == ClosedTo::kEverything});
  };
  for (const Listed& listed : kTrees) add(listed, trees_);
  for (const Listed& listed : kSingle) add(listed, single_);
}

void WorkspaceRules::addUserHomes() {
  for (const std::string& path : sources_.ownHomes) {
    const Fd directory = openDirectory(path.c_str());
    if (!directory) continue;
    if (Chain chain = chainOf(directory.get()); !chain.empty()) ownHomes_.push_back(std::move(chain));
  }
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(sources_.passwdFile.c_str(), "re"));
  std::vector<char> buffer(std::size_t{16} * 1024);
  passwd entry{};
  passwd* found = nullptr;
  while (file && fgetpwent_r(file.get(), &entry, buffer.data(), buffer.size(), &found) == 0) {
    const bool person = entry.pw_uid == 0 || (entry.pw_uid >= kFirstPerson && entry.pw_uid != kNobody);
    if (!person) continue;
    if (const auto identity = identityOf(openDirectory(entry.pw_dir).get())) otherHomes_.push_back(*identity);
  }
}

bool WorkspaceRules::mountShowsHome(const std::string& path) const {
  const std::optional<std::string> table = readWhole(sources_.mountInfo);
  if (!table) return true;
  for (const std::string& point : mountsBelow(*table, path)) {
    const auto identity = identityOf(openDirectory(point.c_str()).get());
    if (identity && (has(home_, *identity) || has(homeFolders_, *identity))) return true;
  }
  return false;
}

std::optional<std::string_view> WorkspaceRules::listedDirectoryShowsHome() const {
  for (const SystemDirectory& listed : systemDirectories()) {
    if (mountShowsHome(std::string(listed.path))) return listed.path;
  }
  return std::nullopt;
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

}  // namespace factionos::sandbox
