#include <algorithm>
#include <map>

#include "workers/git/deltas.h"
#include "workers/git/index_lock.h"
#include "workers/git/operations.h"
#include "workers/git/sparse.h"
#include "workers/git/texts.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMostTextBytes = std::size_t{3} << 20;  // of a reply's names, below the line's 8 MiB

struct Row {
  Change staged;
  Change unstaged;
  schema::GitConflict conflict = schema::GitConflict::NONE;
  bool untracked = false;
};

struct Rows {
  std::map<std::string, Row> tracked;  // git's order: by bytes
  std::vector<std::string> untracked;  // the first of them
  std::uint32_t staged = 0;
  std::uint32_t unstaged = 0;
  std::uint32_t unjudged = 0;
  std::uint32_t untrackedCount = 0;
  Walk walk = Walk::kWhole;
};

Rows collect(const Opened& opened, schema::GitStatusRequest::Reader request, Patience& patience) {
  Rows rows;
  const Index index = opened.index();
  const Head head = headOf(opened.repository);
  const std::vector<Conflict> conflicts = conflictsOf(index.get());
  for (const Conflict& conflict : conflicts) rows.tracked[conflict.path].conflict = conflict.kind;
  const auto conflicted = [&rows](const std::string& path) {
    const auto found = rows.tracked.find(path);
    return found != rows.tracked.end() && found->second.conflict != schema::GitConflict::NONE;
  };
  for (Change& change : stagedChanges(opened.repository, index.get(), head.commit)) {
    if (conflicted(change.path)) continue;
    ++rows.staged;
    rows.tracked[change.path].staged = std::move(change);
  }
  const auto untracked = request.getUntracked() == schema::Untracked::UNSPECIFIED ? schema::Untracked::NORMAL
                                                                                  : request.getUntracked();
  const std::size_t limit = request.getLimit();
  rows.walk = workTreeChanges(
      opened.repository, index.get(), {untracked, opened.workTree(), {}}, patience,
      [&](const Change& change) {
        if (conflicted(change.path)) return;
        ++(change.unjudged ? rows.unjudged : rows.unstaged);
        rows.tracked[change.path].unstaged = change;
      },
      [&](std::string_view path) {
        ++rows.untrackedCount;
        if (rows.untracked.size() < limit) rows.untracked.emplace_back(path);
      });
  return rows;
}

void fillRow(const std::string& path, const Row& row, schema::GitStatusEntry::Builder entry) {
  fill(entry.initPath(), path);
  if (!row.staged.oldPath.empty()) fill(entry.initOldPath(), row.staged.oldPath);
  entry.setConflict(row.conflict);
  entry.setIndex(row.staged.edit);
  entry.setWorktree(row.unstaged.edit);
  entry.setSubmodule(row.staged.submodule || row.unstaged.submodule);
  entry.setUnjudged(row.unstaged.unjudged);
  entry.setUntracked(row.untracked);
}

}  // namespace

Index Opened::index() const {
  refuseOverstated(place.gitDir.handle.get());
  auto index = make<Index>(git_repository_index, repository);
  // What was unmarked once may have gone since.
  must(git_index_read(index.get(), isSparseCheckout(repository) ? 1 : 0));
  unmarkWhatIsThere(*this, index.get());
  return index;
}

void status(const Opened& opened, schema::GitStatusRequest::Reader request, schema::GitStatus::Builder status,
            Patience& patience) {
  const Rows rows = collect(opened, request, patience);
  fillHead(opened, status.initHead());
  std::vector<std::pair<const std::string*, const Row*>> shown;
  std::size_t bytes = 0;
  Row untracked;
  untracked.untracked = true;
  const auto show = [&](const std::string& path, const Row& row) {
    bytes += path.size() + row.staged.oldPath.size();
    if (shown.size() < request.getLimit() && bytes <= kMostTextBytes) shown.emplace_back(&path, &row);
  };
  for (const auto& [path, row] : rows.tracked) show(path, row);
  for (const std::string& path : rows.untracked) show(path, untracked);
  auto entries = status.initEntries(static_cast<unsigned>(shown.size()));
  for (unsigned i = 0; i < entries.size(); ++i) fillRow(*shown[i].first, *shown[i].second, entries[i]);
  status.setStaged(rows.staged);
  status.setUnstaged(rows.unstaged);
  status.setUnjudged(rows.unjudged);
  status.setUntracked(rows.untrackedCount);
  status.setConflicts(static_cast<std::uint32_t>(std::ranges::count_if(
      rows.tracked, [](const auto& each) { return each.second.conflict != schema::GitConflict::NONE; })));
  status.setTruncated(shown.size() < rows.tracked.size() + rows.untrackedCount);
  status.setCountsTruncated(rows.walk == Walk::kCutShort);
}

}  // namespace factionos::git
