// branch-create and checkout.
#include <algorithm>

#include "protocol/text.h"
#include "workers/git/deltas.h"
#include "workers/git/filters.h"
#include "workers/git/plan.h"
#include "workers/git/sparse.h"

namespace factionos::git {
namespace {

FileState stateOf(const git_diff_file& file, bool there) {
  return there ? FileState{canonicalMode(file.mode), file.id} : FileState{};
}

// .gitattributes first: they say how what follows is written.
bool before(const FileEdit& a, const FileEdit& b) {
  const auto attributes = [](const FileEdit& file) { return !file.path.ends_with(".gitattributes"); };
  return std::pair(attributes(a), a.path) < std::pair(attributes(b), b.path);
}

// Of what a sparse checkout leaves out the index alone changes; what lies there all the same is in the way.
void addDifference(const Planning& planning, const git_oid& from, const git_oid& to, ChangeSet& set) {
  const LeftOut leftOut(planning.opened, planning.index);
  std::vector<FileEdit> leftOutFiles;
  std::size_t unknown = 0;
  for (FileEdit& file : differenceOf(planning, from, to)) {
    const std::optional<bool> isLeftOut = leftOut.of(file.path);
    if (!isLeftOut) ++unknown;
    const bool written = !isLeftOut.value_or(false);
    if (written && file.after.there() && file.after.mode != GIT_FILEMODE_COMMIT)
      mustNeedNoProgram(planning.opened.repository, file.path, to);
    IndexEdit entry{file.path, {}, {}};
    entry.before.stages[0] = file.before;
    entry.after.stages[0] = file.after;
    set.index.push_back(std::move(entry));
    (written ? set.files : leftOutFiles).push_back(std::move(file));
  }
  if (unknown > 0) throw Refusal{"unavailable", "sparse_checkout", std::to_string(unknown)};
  std::ranges::sort(set.files, before);
  mustNotOverwrite(planning, leftOutFiles);
}

// Of what the change touches; submodules count, which mustBeClean() leaves out.
void mustBeAsCommitted(const Planning& planning, const std::vector<IndexEdit>& edits) {
  const auto staged = std::ranges::count_if(edits, [&](const IndexEdit& edit) {
    return !(indexStateOf(planning.index, edit.path) == edit.before);
  });
  if (staged > 0) throw Refusal{"not_clean", "working_tree", std::to_string(staged)};
}

// What is marked as unchanged is not looked at by whoever judges the working tree, and may be edited all the
// same. The mark stays, in an index that is written.
void mustBeAsMarked(const Planning& planning, const std::vector<FileEdit>& files) {
  const TreeWriter writer = planning.writer();
  const auto isAsTracked = [&](const FileEdit& file) {
    using There = TreeWriter::There;
    try {
      if (file.before.mode != GIT_FILEMODE_COMMIT)
        return withIndexMode(planning, file.before.mode, writer.now(file.path)) == file.before;
      const There there = writer.at(file.path);
      return there == There::kNothing || there == There::kDirectory;
    } catch (const Refusal&) {
      return false;  // such as one that only a filter's program could compare
    }
  };
  std::size_t changed = 0;
  for (const FileEdit& file : files) {
    const git_index_entry* entry =
        git_index_get_bypath(planning.index, file.path.c_str(), GIT_INDEX_STAGE_NORMAL);
    if (!file.before.there() || entry == nullptr || (entry->flags & GIT_INDEX_ENTRY_VALID) == 0) continue;
    if (planning.patience.over()) throw Refusal{"timed_out", "checkout"};
    if (!isAsTracked(file)) ++changed;
  }
  if (changed > 0) throw Refusal{"not_clean", "working_tree", std::to_string(changed)};
}

}  // namespace

std::vector<FileEdit> differenceOf(const Planning& planning, const git_oid& from, const git_oid& to) {
  const Tree a = treeOf(planning.opened.repository, from);
  const Tree b = treeOf(planning.opened.repository, to);
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_INCLUDE_TYPECHANGE;
  takeModesAsGitDoes(options);
  const Diff diff = make<Diff>(git_diff_tree_to_tree, planning.opened.repository, a.get(), b.get(), &options);
  if (git_diff_num_deltas(diff.get()) > kMostTouched) throw Refusal{"too_large", "files"};
  std::vector<FileEdit> files;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    if (planning.patience.over()) throw Refusal{"timed_out", "checkout"};
    const git_diff_delta& delta = *git_diff_get_delta(diff.get(), i);
    files.push_back({checkedPath(delta.new_file.path),
                     stateOf(delta.old_file, delta.status != GIT_DELTA_ADDED),
                     stateOf(delta.new_file, delta.status != GIT_DELTA_DELETED)});
  }
  return files;
}

void mustBeNowhereElse(const Planning& planning, const std::string& branch,
                       const std::function<bool(const WorktreeRow&)>& but) {
  for (const WorktreeRow& other : worktrees(planning.opened))
    if (other.uses(branch) && !(but && but(other))) throw Refusal{"exists", "checked_out_elsewhere"};
}

void mustNeedNoProgram(git_repository* repository, const std::string& path, const git_oid& commit) {
  if (filterOf(repository, path) != FilterKind::kNone) throw Refusal{"filter_attribute", "checkout"};
  git_attr_options options = GIT_ATTR_OPTIONS_INIT;
  options.flags = GIT_ATTR_CHECK_INCLUDE_COMMIT | GIT_ATTR_CHECK_NO_SYSTEM;
  options.attr_commit_id = commit;
  for (const char* name : {"filter", "working-tree-encoding"}) {
    const char* value = nullptr;
    must(git_attr_get_ext(&value, repository, &options, path.c_str(), name));
    if (git_attr_value(value) == GIT_ATTR_VALUE_STRING) throw Refusal{"filter_attribute", "checkout"};
  }
}

Plan planBranchCreate(const Planning& planning, schema::GitBranchCreate::Reader request) {
  Plan plan;
  plan.set.operation = "branch-create";
  const std::string name = checkedBranch(view(request.getBranch()));
  plan.target = labelOf("branch", view(request.getBranch()));
  const Revision from = request.hasFrom() ? checkedRevision(view(request.getFrom())) : Revision{"HEAD", ""};
  const Commit commit = resolve(planning.opened.repository, from);
  if (!refStateOf(planning.opened.repository, name).empty()) throw Refusal{"exists", "branch"};
  plan.set.refs.push_back({name, {}, hexOf(*git_commit_id(commit.get()))});
  plan.basis = plan.set.refs.back().after;
  return plan;
}

Plan planCheckout(const Planning& planning, schema::GitCheckout::Reader request) {
  Plan plan;
  plan.set.operation = "checkout";
  git_repository* repository = planning.opened.repository;
  const std::string name = checkedBranch(view(request.getBranch()));
  plan.target = labelOf("branch", view(request.getBranch()));
  const std::string there = branchStateOf(repository, name);
  if (there.empty()) throw Refusal{"not_found", "branch"};
  const Head head = headOf(repository);
  if (head.name == name) throw Refusal{"nothing_to_do", "checkout"};
  mustBeIdle(planning.opened);
  mustBeNowhereElse(planning, name);
  const git_oid to = oidOf(there);
  addDifference(planning, head.commit, to, plan.set);
  addStamps(planning, plan);  // and then what is there is judged
  mustBeClean(planning);
  mustBeAsCommitted(planning, plan.set.index);
  mustBeAsMarked(planning, plan.set.files);
  mustBeFree(planning, plan.set.files);
  mustNotOverwrite(planning, plan.set.files);
  plan.files = static_cast<std::uint32_t>(plan.set.files.size());
  plan.set.refs.push_back({"HEAD", headStateOf(repository), "ref: " + name});
  plan.goal = {name, there};
  plan.basis = there;
  return plan;
}

}  // namespace factionos::git
