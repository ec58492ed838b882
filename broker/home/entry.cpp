#include "broker/home/entry.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "sandbox/system_paths.h"

namespace factionos::home {
namespace {

std::string shellName(const std::string& shown) {
  return shown.empty() ? "\"$FACTIONOS_HOME\"" : "\"$FACTIONOS_HOME/" + shown + "\"";
}

std::string spokenName(const std::string& shown) {
  return shown.empty() ? "the home directory" : shown;
}

Problem unsafe(const std::string& shown, std::string what, std::string remedy) {
  return {ProblemCode::kUnsafe, spokenName(shown) + " " + std::move(what), std::move(remedy)};
}

// What sshd calls strict modes: whoever can rename an ancestor can put another home in its place.
std::optional<Problem> judgeAncestor(const struct stat& status) {
  const bool trustedOwner = status.st_uid == 0 || status.st_uid == ::geteuid();
  if (!trustedOwner) {
    return Problem{ProblemCode::kUnsafe, "a directory above the home belongs to another user",
                   "choose a home whose parent directories belong to you or to root"};
  }
  const bool sticky = (status.st_mode & S_ISVTX) != 0;
  const bool ownGroup = status.st_gid == 0 || status.st_gid == ::getegid();
  const bool groupMayExchange = (status.st_mode & S_IWGRP) != 0 && !ownGroup;
  const bool othersMayExchange = (status.st_mode & S_IWOTH) != 0;
  if (!sticky && (groupMayExchange || othersMayExchange)) {
    return Problem{ProblemCode::kUnsafe, "a directory above the home may be changed by other users",
                   "remove the write permission of group and others from the directories above the home"};
  }
  return std::nullopt;
}

// Commands are kept out of the home by not being granted it.
std::optional<Problem> judgeReadability(const struct stat& status) {
  const auto listed = sandbox::listedTree(status);
  if (!listed) return std::nullopt;
  return Problem{
      ProblemCode::kRefused,
      "the home lies in " + std::string(*listed) + ", where every command may read (system_directory)",
      "choose a home outside of the system's directories, such as ~/.factionos or /var/lib/factionos"};
}

std::optional<Problem> judgeAncestors(const std::string& resolvedParent) {
  sandbox::Fd current(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const auto& component : std::filesystem::path(resolvedParent).relative_path()) {
    struct stat status {};
    if (!current || ::fstat(current.get(), &status) != 0)
      return systemProblem("look at", "the home's parent", errno);
    if (auto problem = judgeReadability(status)) return problem;
    if (auto problem = judgeAncestor(status)) return problem;
    current = sandbox::Fd(
        ::openat(current.get(), component.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  struct stat status {};
  if (!current || ::fstat(current.get(), &status) != 0)
    return systemProblem("look at", "the home's parent", errno);
  if (auto problem = judgeReadability(status)) return problem;
  return judgeAncestor(status);
}

}  // namespace

Problem systemProblem(std::string_view action, std::string_view shown, int error) {
  ProblemCode code = ProblemCode::kIo;
  if (error == ENOENT) code = ProblemCode::kNotFound;
  if (error == EEXIST) code = ProblemCode::kExists;
  if (error == ELOOP || error == EPERM || error == EACCES) code = ProblemCode::kUnsafe;
  std::string message = "cannot " + std::string(action) + " " + spokenName(std::string(shown)) + ": " +
                        std::generic_category().message(error);
  return {code, std::move(message), {}};
}

std::optional<Problem> judgeEntry(const struct stat& status, EntryKind kind, const std::string& shown) {
  const std::string name = shellName(shown);
  if (S_ISLNK(status.st_mode)) {
    return unsafe(shown, "is a symbolic link", "put the real thing in its place: rm " + name);
  }
  if (kind == EntryKind::kDirectory && !S_ISDIR(status.st_mode)) {
    return unsafe(shown, "is not a directory", "move it away and run: factionos init");
  }
  if (kind == EntryKind::kFile && !S_ISREG(status.st_mode)) {
    return unsafe(shown, "is not a regular file", "move it away and run: factionos init");
  }
  if (status.st_uid != ::geteuid()) {
    return unsafe(shown,
                  "belongs to another user (uid " + std::to_string(status.st_uid) + ", ours is " +
                      std::to_string(::geteuid()) + ")",
                  "run: chown -h " + std::to_string(::geteuid()) + " " + name);
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    const char* mode = S_ISDIR(status.st_mode) ? "700 " : "600 ";
    return unsafe(shown, "is open to other users", std::string("run: chmod ") + mode + name);
  }
  return std::nullopt;
}

Result<sandbox::Fd> openDirectoryEntry(int directory, const std::string& name, const std::string& shown) {
  // O_PATH first: it opens a symbolic link as itself, so that the message can say what is wrong.
  sandbox::Fd entry(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!entry) return systemProblem("open", shown, errno);
  struct stat status {};
  if (::fstat(entry.get(), &status) != 0) return systemProblem("look at", shown, errno);
  if (auto problem = judgeEntry(status, EntryKind::kDirectory, shown)) return *std::move(problem);
  sandbox::Fd opened(::openat(entry.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return systemProblem("open", shown, errno);
  return opened;
}

Result<std::string> resolveHomePath(const std::string& path) {
  const std::filesystem::path wanted(path);
  if (!wanted.is_absolute() || wanted.filename().empty() || path.find('\0') != std::string::npos ||
      path.size() >= PATH_MAX) {
    return Problem{ProblemCode::kInvalid, "the home must be an absolute path and not the root directory",
                   "give another --home or FACTIONOS_HOME"};
  }
  char resolved[PATH_MAX];
  if (::realpath(wanted.parent_path().c_str(), resolved) == nullptr) {
    Problem problem = systemProblem("find", "the directory that is to hold the home", errno);
    problem.remedy = "make it first: mkdir -p";
    return problem;
  }
  if (auto problem = judgeAncestors(resolved)) return *std::move(problem);
  std::string home = (std::filesystem::path(resolved) / wanted.filename()).string();
  struct stat status {};
  if (::stat(home.c_str(), &status) == 0) {
    if (auto problem = judgeReadability(status)) return *std::move(problem);
  }
  return home;
}

}  // namespace factionos::home
