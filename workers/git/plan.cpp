#include "workers/git/plan.h"

#include <algorithm>
#include <set>

#include "workers/file/protected.h"
#include "workers/git/deltas.h"
#include "workers/git/files.h"

namespace factionos::git {

Plan planFor(const Planning& planning, schema::GitChange::Reader change) {
  switch (change.which()) {
    case schema::GitChange::STAGE:
      return planStage(planning, change.getStage());
    case schema::GitChange::UNSTAGE:
      return planUnstage(planning, change.getUnstage());
    case schema::GitChange::COMMIT:
      return planCommit(planning, change.getCommit());
    case schema::GitChange::BRANCH_CREATE:
      return planBranchCreate(planning, change.getBranchCreate());
    case schema::GitChange::CHECKOUT:
      return planCheckout(planning, change.getCheckout());
    case schema::GitChange::WORKTREE_ADD:
      return planWorktreeAdd(planning, change.getWorktreeAdd());
    case schema::GitChange::WORKTREE_REMOVE:
      return planWorktreeRemove(planning, change.getWorktreeRemove());
    case schema::GitChange::FETCH:
      return planFetch(planning, change.getFetch());
    case schema::GitChange::PUSH:
      return planPush(planning, change.getPush());
    case schema::GitChange::ROLLBACK:
      return planRollback(planning, change.getRollback());
    case schema::GitChange::UNSPECIFIED:
      break;
  }
  throw Refusal{"invalid", "change"};
}

IndexState indexStateOf(git_index* index, const std::string& path) {
  IndexState state;
  for (int stage = 0; stage < 4; ++stage) {
    const git_index_entry* entry = git_index_get_bypath(index, path.c_str(), stage);
    if (entry == nullptr) continue;
    state.stages[stage] = {entry->mode, entry->id};
    if (stage == 0) state.intended = isIntended(*entry);
  }
  return state;
}

FileState fileStateOf(git_tree* tree, const std::string& path) {
  if (tree == nullptr) return {};
  git_tree_entry* raw = nullptr;
  const int error = git_tree_entry_bypath(&raw, tree, path.c_str());
  if (error == GIT_ENOTFOUND) return {};
  must(error);
  const Handle<git_tree_entry, git_tree_entry_free> entry(raw);
  if (git_tree_entry_type(raw) == GIT_OBJECT_TREE) return {};
  return {static_cast<std::uint32_t>(git_tree_entry_filemode(raw)), *git_tree_entry_id(raw)};
}

std::string refStateOf(git_repository* repository, const std::string& name) {
  const Reference reference = find<Reference>(git_reference_lookup, repository, name.c_str());
  if (!reference) return {};
  if (git_reference_type(reference.get()) == GIT_REFERENCE_SYMBOLIC)
    return std::string("ref: ") + git_reference_symbolic_target(reference.get());
  return hexOf(*git_reference_target(reference.get()));
}

std::string branchStateOf(git_repository* repository, const std::string& name) {
  std::string state = refStateOf(repository, name);
  if (state.starts_with(kSymbolic)) throw Refusal{"unavailable", "symbolic_branch"};
  return state;
}

std::string headStateOf(git_repository* repository) {
  return refStateOf(repository, "HEAD");
}

std::string labelOf(std::string_view what, std::string_view name) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
  constexpr std::size_t kLongest = 63;
  std::string label = std::string(what) + ":" + std::string(name);
  const bool plain = name.find_first_not_of(kPlain) == std::string_view::npos && label.size() <= kLongest;
  return plain ? label : std::string(what);
}

void mustBeClean(const Planning& planning) {
  const Head head = headOf(planning.opened.repository);
  // A submodule's pointer is no file: it goes along, as by git, and what a change would make of it has its
  // own look.
  const auto staged = stagedChanges(planning.opened.repository, planning.index, head.commit);
  auto changed = static_cast<std::size_t>(std::ranges::count(staged, false, &Change::submodule));
  changed += conflictsOf(planning.index).size();
  const Walk walk = workTreeChanges(
      planning.opened.repository, planning.index, {schema::Untracked::NO, planning.opened.workTree(), {}},
      planning.patience, [&changed](const Change&) { ++changed; }, [](std::string_view) {});
  if (walk == Walk::kCutShort) throw Refusal{"timed_out", "working_tree"};
  if (changed > 0) throw Refusal{"not_clean", "working_tree", std::to_string(changed)};
}

std::vector<IndexEdit> inTheWayOf(git_index* index, const std::vector<IndexEdit>& edits) {
  std::set<std::string, std::less<>> known;
  for (const IndexEdit& edit : edits) known.insert(edit.path);
  std::vector<IndexEdit> found;
  const auto add = [&](const std::string& path) {
    IndexEdit edit{path, indexStateOf(index, path), {}};
    if (!(edit.before == edit.after) && known.insert(path).second) found.push_back(std::move(edit));
  };
  for (const IndexEdit& edit : edits) {
    if (edit.after == IndexState{}) continue;
    for (std::string above = splitOf(edit.path).above; above != "."; above = splitOf(above).above) add(above);
    const std::string below = edit.path + "/";
    std::size_t at = 0;
    if (git_index_find_prefix(&at, index, below.c_str()) < 0) continue;
    for (; at < git_index_entrycount(index); ++at) {
      const std::string_view path = git_index_get_byindex(index, at)->path;
      if (!path.starts_with(below)) break;
      add(std::string(path));
    }
  }
  return found;
}

void addStamps(const Planning& planning, Plan& plan) {
  const TreeWriter writer = planning.writer();
  for (const FileEdit& file : plan.set.files) {
    if (!file.before.there() || file.before.mode == GIT_FILEMODE_COMMIT) continue;
    if (planning.patience.over()) throw Refusal{"timed_out", "files"};
    plan.stamps.emplace(file.path, writer.stampOf(file.path));
  }
}

bool isProtected(const Planning& planning, const std::string& path) {
  return file::isProtected(planning.opened.workTree(), path);
}

void mustBeFree(const Planning& planning, const std::vector<FileEdit>& files) {
  std::size_t count = 0;
  for (const FileEdit& file : files) {
    if (planning.patience.over()) throw Refusal{"timed_out", "protected_names"};
    if (isProtected(planning, file.path)) ++count;
  }
  if (count > 0) throw Refusal{"path_protected", "files", std::to_string(count)};
}

void mustBeIdle(const Opened& opened) {
  if (underway(opened) != nullptr) throw Refusal{"underway", "merge_or_rebase"};
}

}  // namespace factionos::git
