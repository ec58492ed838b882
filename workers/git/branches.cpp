#include <algorithm>
#include <map>

#include "workers/git/operations.h"
#include "workers/git/texts.h"

namespace factionos::git {
namespace {

constexpr std::size_t kMostBranches = 100'000;
constexpr std::string_view kRemotes = "refs/remotes/";

struct Row {
  std::string full;
  std::string commit;
  bool remote = false;
};

std::vector<Row> rowsOf(git_repository* repository, const char* glob, bool remote, Patience& patience) {
  std::vector<Row> rows;
  const auto iterator = make<ReferenceIterator>(git_reference_iterator_glob_new, repository, glob);
  git_reference* raw = nullptr;
  int error = 0;
  while ((error = git_reference_next(&raw, iterator.get())) == 0) {
    const Reference reference(raw);
    if (rows.size() == kMostBranches || patience.over()) throw Refusal{"too_large", "branches"};
    // Of one that is another's name the other's; of one that names nothing there is none.
    git_reference* resolved = nullptr;
    const bool named = git_reference_resolve(&resolved, reference.get()) == 0;
    const Reference found(named ? resolved : nullptr);
    rows.push_back({git_reference_name(reference.get()),
                    found ? hexOf(*git_reference_target(found.get())) : std::string(), remote});
  }
  if (error != GIT_ITEROVER) must(error);
  return rows;
}

std::string upstreamOf(git_repository* repository, const std::string& full) {
  Buffer name;
  if (git_branch_upstream_name(name.out(), repository, full.c_str()) < 0) return {};
  const std::string_view found(name.data(), name.size());
  for (const std::string_view prefix : {kRemotes, kHeads})
    if (found.starts_with(prefix)) return std::string(found.substr(prefix.size()));
  return std::string(found);
}

}  // namespace

void branches(const Opened& opened, schema::GitBranchesRequest::Reader request,
              schema::GitBranches::Builder reply, Patience& patience) {
  std::vector<Row> rows = rowsOf(opened.repository, "refs/heads/*", false, patience);
  if (request.getRemotes()) {
    std::vector<Row> more = rowsOf(opened.repository, "refs/remotes/*", true, patience);
    std::ranges::move(more, std::back_inserter(rows));
  }
  std::ranges::sort(rows, {}, &Row::full);
  const Head head = headOf(opened.repository);
  std::map<std::string, std::string> checkedOut;
  for (const WorktreeRow& worktree : worktrees(opened))
    if (!worktree.main && !worktree.branch.empty()) checkedOut[worktree.branch] = worktree.name;
  const auto shown = std::min<std::size_t>(rows.size(), request.getLimit());
  auto list = reply.initBranches(static_cast<unsigned>(shown));
  for (unsigned i = 0; i < shown; ++i) {
    const Row& row = rows[i];
    auto branch = list[i];
    const std::string name = row.full.substr(row.remote ? kRemotes.size() : kHeads.size());
    branch.setName(utf8(name).c_str());
    if (!row.commit.empty()) branch.setCommit(row.commit.c_str());
    branch.setRemote(row.remote);
    branch.setCurrent(row.full == head.name);
    const std::string upstream = row.remote ? std::string() : upstreamOf(opened.repository, row.full);
    if (!upstream.empty()) branch.setUpstream(utf8(upstream).c_str());
    if (const auto found = checkedOut.find(name); !row.remote && found != checkedOut.end())
      branch.setWorktree(utf8(found->second).c_str());
  }
  reply.setTotal(static_cast<std::uint32_t>(rows.size()));
  reply.setTruncated(shown < rows.size());
}

}  // namespace factionos::git
