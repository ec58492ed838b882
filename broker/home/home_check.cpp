#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

#include "broker/home/entry.h"
#include "broker/home/home.h"
#include "broker/home/label.h"
#include "sandbox/entries.h"

namespace factionos::home {
namespace {

constexpr std::array kFolders{"state", "run", "spool", "tokens"};
constexpr std::array kFiles{"config.toml", "policy.toml", "operator.key", "operator.pub"};
// Enough to look at any home in use, and an end for one that was filled on purpose.
constexpr std::size_t kMaxEntries = 20000;

std::optional<Problem> judgeNamed(int directory, const std::string& name, EntryKind kind,
                                  const std::string& shown) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return systemProblem("look at", shown, errno);
  }
  // A socket that a broker left behind is removed before the next one is bound; its mode says nothing.
  if (kind == EntryKind::kAny && S_ISSOCK(status.st_mode)) return std::nullopt;
  return judgeEntry(status, kind, shown);
}

// Names of entries come from whoever wrote into the folder: only what is a label is told.
std::string shownInside(const std::string& folder, const std::string& name) {
  const std::string_view visible = name.starts_with('.') ? std::string_view(name).substr(1) : name;
  return folder + (isLabel(visible) ? name : "(an entry whose name is no label)");
}

void judgeInside(int directory, const std::string& folder, std::vector<Problem>& problems) {
  const sandbox::DirectoryStream listing =
      sandbox::streamOf(sandbox::Fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!listing) {
    problems.push_back(systemProblem("list", folder, errno));
    return;
  }
  std::vector<std::string> names;
  while (const dirent* entry = sandbox::nextEntry(listing.get())) {
    names.emplace_back(entry->d_name);
    if (names.size() > kMaxEntries) {
      problems.push_back({ProblemCode::kUnsafe, folder + " holds too many entries", "look at what fills it"});
      return;
    }
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    auto problem = judgeNamed(directory, name, EntryKind::kAny, shownInside(folder, name));
    if (problem && problem->code != ProblemCode::kNotFound) problems.push_back(*std::move(problem));
  }
}

void judgeFolder(int top, const std::string& name, std::vector<Problem>& problems) {
  const std::string shown = name + "/";
  auto opened = openDirectoryEntry(top, name, shown);
  if (!opened) {
    Problem problem = opened.problem();
    if (problem.code == ProblemCode::kNotFound) {
      problem = {ProblemCode::kNotFound, shown + " is missing",
                 "run: mkdir -m 700 \"$FACTIONOS_HOME/" + shown + "\""};
    }
    problems.push_back(std::move(problem));
    return;
  }
  judgeInside(opened->get(), shown, problems);
}

}  // namespace

std::vector<Problem> Home::check(const std::string& path) {
  auto resolved = resolveHomePath(path);
  if (!resolved) return {resolved.problem()};
  auto top = openDirectoryEntry(AT_FDCWD, *resolved, "");
  if (!top) {
    Problem problem = top.problem();
    if (problem.code == ProblemCode::kNotFound) {
      problem = {ProblemCode::kNotFound, "there is no home yet", "run: factionos init"};
    }
    return {std::move(problem)};
  }
  std::vector<Problem> problems;
  for (const char* name : kFiles) {
    auto problem = judgeNamed(top->get(), name, EntryKind::kFile, name);
    if (problem && problem->code != ProblemCode::kNotFound) problems.push_back(*std::move(problem));
  }
  for (const char* name : kFolders) judgeFolder(top->get(), name, problems);
  return problems;
}

}  // namespace factionos::home
