#include "sandbox/workspace.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>

#include <fcntl.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace factionos::sandbox {
namespace {

constexpr std::size_t kDeepest = 4096;  // ancestors that are looked at; PATH_MAX leaves no room for more

// These and everything below.
constexpr std::array kSystemTrees = {"/bin",   "/boot",   "/dev",  "/etc",  "/lib", "/lib32",
                                     "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr"};
constexpr std::array kSocketTrees = {"/run", "/var/run"};
// These themselves; what lies below belongs to somebody.
constexpr std::array kSharedParents = {
    "/home", "/media", "/mnt",     "/nix",       "/opt",     "/root",      "/snap",    "/srv",
    "/tmp",  "/var",   "/var/lib", "/var/cache", "/var/log", "/var/spool", "/var/tmp", "/nix/store"};

std::vector<std::string> userHomes() {
  std::vector<std::string> homes;
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    homes.emplace_back(entry.pw_dir);
  }
  if (const char* home = getenv("HOME"); home != nullptr && *home == '/') homes.emplace_back(home);
  return homes;
}

}  // namespace

std::string_view label(WorkspaceRefusal refusal) {
  switch (refusal) {
    case WorkspaceRefusal::kPath:
      return "path_invalid";
    case WorkspaceRefusal::kUnusable:
      return "unusable";
    case WorkspaceRefusal::kRoot:
      return "is_root";
    case WorkspaceRefusal::kState:
      return "own_state";
    case WorkspaceRefusal::kUserHome:
      return "user_home";
    case WorkspaceRefusal::kSystemDirectory:
      return "system_directory";
    case WorkspaceRefusal::kSocketDirectory:
      return "socket_directory";
  }
  return "unknown";
}

bool WorkspaceRules::has(const std::vector<Identity>& list, const Identity& identity) {
  return std::ranges::find(list, identity) != list.end();
}

std::vector<WorkspaceRules::Identity> WorkspaceRules::ancestry(int directory) {
  std::vector<Identity> result;
  Fd at(fcntl(directory, F_DUPFD_CLOEXEC, 0));
  while (at && result.size() < kDeepest) {
    struct stat status {};
    if (fstat(at.get(), &status) != 0) return {};
    const Identity identity{status.st_dev, status.st_ino};
    if (!result.empty() && result.back() == identity) return result;  // ".." of the root is the root
    result.push_back(identity);
    at.reset(openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return {};
}

std::vector<WorkspaceRules::Identity> WorkspaceRules::ancestry(const std::string& path) {
  const Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return directory ? ancestry(directory.get()) : std::vector<Identity>();
}

WorkspaceRules WorkspaceRules::gather(int state) {
  WorkspaceRules rules;
  if (state >= 0) rules.state_ = ancestry(state);
  for (const std::string& home : userHomes()) {
    if (std::vector<Identity> known = ancestry(home); !known.empty())
      rules.homes_.push_back(std::move(known));
  }
  const auto collect = [](const auto& paths, std::vector<Identity>& into) {
    for (const char* path : paths) {
      struct stat status {};
      if (stat(path, &status) == 0) into.push_back({status.st_dev, status.st_ino});
    }
  };
  collect(kSystemTrees, rules.systemTrees_);
  collect(kSocketTrees, rules.socketTrees_);
  collect(kSharedParents, rules.sharedParents_);
  return rules;
}

std::variant<Fd, WorkspaceRefusal> WorkspaceRules::open(const std::string& path) const {
  if (path.empty() || path.front() != '/' || path.size() >= PATH_MAX ||
      path.find('\0') != std::string::npos) {
    return WorkspaceRefusal::kPath;
  }
  open_how how{};
  how.flags = static_cast<unsigned>(O_PATH | O_DIRECTORY | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  Fd directory(static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  const std::vector<Identity> own = directory ? ancestry(directory.get()) : std::vector<Identity>();
  if (own.empty()) return WorkspaceRefusal::kUnusable;

  const Identity& self = own.front();
  if (own.size() == 1) return WorkspaceRefusal::kRoot;
  if (!state_.empty() && (has(own, state_.front()) || has(state_, self))) return WorkspaceRefusal::kState;
  if (std::ranges::any_of(homes_, [&self](const auto& home) { return has(home, self); }))
    return WorkspaceRefusal::kUserHome;
  const auto within = [&own](const std::vector<Identity>& trees) {
    return std::ranges::any_of(own, [&trees](const Identity& identity) { return has(trees, identity); });
  };
  if (within(socketTrees_)) return WorkspaceRefusal::kSocketDirectory;
  if (within(systemTrees_) || has(sharedParents_, self)) return WorkspaceRefusal::kSystemDirectory;
  return directory;
}

}  // namespace factionos::sandbox
