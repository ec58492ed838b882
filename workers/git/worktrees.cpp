// The working trees of a repository, as the files that git keeps of them tell: libgit2 would open each.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>

#include "sandbox/entries.h"
#include "workers/git/files.h"
#include "workers/git/operations.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMostWorktrees = 256;

std::string firstLine(const std::optional<std::string>& text) {
  return text ? text->substr(0, text->find_first_of("\r\n")) : std::string();
}

std::string relativeTo(const std::string& base, const std::string& path) {
  if (path.size() > base.size() && path.starts_with(base) && path[base.size()] == '/')
    return path.substr(base.size() + 1);
  return {};
}

void readHead(const Opened& opened, const std::optional<std::string>& text, WorktreeRow& row) {
  const std::string line = firstLine(text);
  if (!line.starts_with(kSymbolic)) {
    if (line.size() == GIT_OID_HEXSZ) row.commit = line;
    return;
  }
  const std::string full = line.substr(kSymbolic.size());
  if (full.starts_with(kHeads)) row.branch = full.substr(kHeads.size());
  git_reference* raw = nullptr;
  if (git_reference_lookup(&raw, opened.repository, full.c_str()) < 0) return;
  const Reference named(raw);
  if (git_reference_resolve(&raw, named.get()) < 0) return;
  const Reference found(raw);
  row.commit = hexOf(*git_reference_target(found.get()));
  // One that is only another name of it: commits go there.
  if (git_reference_name(found.get()) != full) row.held.emplace_back(git_reference_name(found.get()));
}

// Where git notes the branch that something under way in a working tree is of, and with rebase.updateRefs
// those that it will move: full names, or, of a bisection, a branch's own. Else a commit, or "detached HEAD".
void readHeld(int directory, const std::string& folder, WorktreeRow& row) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  for (const char* file :
       {"rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs", "BISECT_START"}) {
    const std::string text = readSmall(directory, folder + file, kMostBytes).value_or(std::string());
    for (std::size_t at = 0; at < text.size();) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      at += line.size() + 1;
      if (line.starts_with(kHeads)) {
        row.held.push_back(line);
      } else if (file == std::string_view("BISECT_START")) {
        row.held.push_back(std::string(kHeads) + line);
      }
    }
  }
}

WorktreeRow linkedRow(const Opened& opened, const std::string& name) {
  const int common = opened.place.commonDir.handle.get();
  const std::string folder = "worktrees/" + name + "/";
  WorktreeRow row;
  row.name = name;
  std::string file = firstLine(readSmall(common, folder + "gitdir", PATH_MAX));
  if (!file.empty() && file.front() != '/') {
    file = (std::filesystem::path(opened.place.commonDir.path) / folder / file).lexically_normal().string();
  }
  row.path = file.ends_with("/.git") ? file.substr(0, file.size() - 5) : file;
  row.directory = relativeTo(opened.place.workTree.path, row.path);
  struct stat status {};
  // Of a place elsewhere nothing is told, not even whether it is there.
  const auto isGone = [&]() {
    return lstat(file.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
  };
  row.missing = row.path.empty() || (!row.directory.empty() && isGone());
  row.locked = fstatat(common, (folder + "locked").c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  readHead(opened, readSmall(common, folder + "HEAD", 1024), row);
  readHeld(common, folder, row);
  return row;
}

}  // namespace

std::vector<WorktreeRow> worktrees(const Opened& opened) {
  std::vector<WorktreeRow> rows;
  const int common = opened.place.commonDir.handle.get();
  // A bare one's HEAD is nobody's.
  if (!opened.place.config.bare) {
    WorktreeRow main;
    main.main = true;
    main.here = opened.place.kind == Kind::kMain;
    if (main.here) main.directory = ".";
    readHead(opened, readSmall(common, "HEAD", 1024), main);
    readHeld(common, "", main);
    rows.push_back(std::move(main));
  }
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(common, "worktrees", O_RDONLY | O_DIRECTORY));
  while (const dirent* entry = stream ? sandbox::nextEntry(stream.get()) : nullptr) {
    if (rows.size() > kMostWorktrees) throw Refusal{"too_large", "worktrees"};
    rows.push_back(linkedRow(opened, entry->d_name));
    rows.back().here = rows.back().path == opened.place.workTree.path;
    if (rows.back().here) rows.back().directory = ".";
  }
  std::ranges::sort(rows, {}, [](const WorktreeRow& row) { return std::pair(!row.main, row.name); });
  return rows;
}

bool WorktreeRow::uses(std::string_view full) const {
  if (missing && !locked) return false;
  const bool isOn = !branch.empty() && full.starts_with(kHeads) && full.substr(kHeads.size()) == branch;
  return isOn || std::ranges::find(held, full) != held.end();
}

}  // namespace factionos::git
