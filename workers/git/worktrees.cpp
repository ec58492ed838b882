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
  git_oid id;
  if (git_reference_name_to_id(&id, opened.repository, full.c_str()) == 0) row.commit = hexOf(id);
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
  return row;
}

}  // namespace

std::vector<WorktreeRow> worktrees(const Opened& opened) {
  std::vector<WorktreeRow> rows;
  const int common = opened.place.commonDir.handle.get();
  WorktreeRow main;
  main.main = true;
  if (opened.place.kind == Kind::kMain) main.directory = ".";
  readHead(opened, readSmall(common, "HEAD", 1024), main);
  rows.push_back(std::move(main));
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(common, "worktrees", O_RDONLY | O_DIRECTORY));
  while (const dirent* entry = stream ? sandbox::nextEntry(stream.get()) : nullptr) {
    if (rows.size() > kMostWorktrees) throw Refusal{"too_large", "worktrees"};
    rows.push_back(linkedRow(opened, entry->d_name));
    if (rows.back().path == opened.place.workTree.path) rows.back().directory = ".";
  }
  std::ranges::sort(rows.begin() + 1, rows.end(), {}, &WorktreeRow::name);
  return rows;
}

}  // namespace factionos::git
