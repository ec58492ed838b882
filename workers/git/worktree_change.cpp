// Linked working trees: made and removed as git does, without opening the configuration that they share.
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/text.h"
#include "sandbox/remove_tree.h"
#include "workers/git/carry_out.h"
#include "workers/git/deltas.h"
#include "workers/git/files.h"
#include "workers/git/filters.h"

namespace factionos::git {
namespace {

constexpr std::string_view kSymbolic = "ref: ";
constexpr std::string_view kHeads = "refs/heads/";

void mustWrite(bool fact) {
  if (!fact) throw Refusal{"not_writable", "worktree"};
}

void writeFile(int directory, const std::string& name, const std::string& text) {
  const sandbox::Fd file = openBeneath(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
  mustWrite(file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

sandbox::Fd makeDirectories(int base, const std::string& path) {
  for (std::size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    const std::size_t parent = part.rfind('/');
    const std::string above = parent == std::string::npos ? "." : part.substr(0, parent);
    const sandbox::Fd directory = openBeneath(base, above, O_RDONLY | O_DIRECTORY);
    const std::string name = parent == std::string::npos ? part : part.substr(parent + 1);
    mustWrite(directory && (mkdirat(directory.get(), name.c_str(), 0755) == 0 || errno == EEXIST));
    if (slash == std::string::npos) break;
  }
  sandbox::Fd made = openBeneath(base, path, O_RDONLY | O_DIRECTORY);
  mustWrite(static_cast<bool>(made));
  return made;
}

git_oid commitOfHead(git_repository* repository, const std::string& head) {
  const std::string state =
      head.starts_with(kSymbolic) ? refStateOf(repository, head.substr(kSymbolic.size())) : head;
  return oidOf(state);
}

struct Filling {
  git_repository* repository;
  TreeWriter writer;
  git_index* index;
  std::exception_ptr failure = nullptr;
};

int fillOne(const char* root, const git_tree_entry* entry, void* payload) {
  auto& filling = *static_cast<Filling*>(payload);
  if (git_tree_entry_type(entry) == GIT_OBJECT_TREE) return 0;
  try {
    const std::string path = checkedPath(std::string(root) + git_tree_entry_name(entry));
    const FileState state{static_cast<std::uint32_t>(git_tree_entry_filemode(entry)),
                          *git_tree_entry_id(entry)};
    git_index_entry added{};
    added.path = path.c_str();
    added.mode = state.mode;
    added.id = state.id;
    must(git_index_add(filling.index, &added));  // refuses names that must not be written
    if (filterOf(filling.repository, path) != FilterKind::kNone)
      throw Refusal{"filter_attribute", "worktree"};
    filling.writer.put(path, state);
    filling.writer.describe(path, state, added);
    must(git_index_add(filling.index, &added));
    return 0;
  } catch (...) {
    filling.failure = std::current_exception();
    return GIT_EUSER;
  }
}

void populate(const Opened& opened, const WorktreeEdit& edit, int directory, const std::string& admin) {
  const Tree tree = treeOf(opened.repository, commitOfHead(opened.repository, edit.head));
  const std::string path = opened.place.commonDir.path + "/" + admin + "/index";
  const Index index = make<Index>(git_index_open, path.c_str());
  Filling filling{opened.repository, TreeWriter(opened.repository, directory), index.get()};
  const int error = git_tree_walk(tree.get(), GIT_TREEWALK_PRE, fillOne, &filling);
  if (filling.failure) std::rethrow_exception(filling.failure);
  must(error);
  must(git_index_write(index.get()));
}

std::size_t filesOf(const Opened& opened, const git_oid& commit) {
  const Tree tree = treeOf(opened.repository, commit);
  std::size_t count = 0;
  must(git_tree_walk(
      tree.get(), GIT_TREEWALK_PRE,
      [](const char*, const git_tree_entry* entry, void* payload) {
        if (git_tree_entry_type(entry) != GIT_OBJECT_TREE) ++*static_cast<std::size_t*>(payload);
        return 0;
      },
      &count));
  if (count > kMostTouched) throw Refusal{"too_large", "files"};
  return count;
}

}  // namespace

// Nothing that is in no commit may be lost.
void mustHoldNothingNew(const Opened& opened, const WorktreeRow& row, Patience& patience) {
  const Directory& workspace = opened.place.workTree;
  const Place place = locate(row.path, {openDirectory(row.path).release(), workspace.handle.get(),
                                        opened.place.commonDir.handle.get()});
  const Repository repository = openRepository(place);
  const Opened other{place, repository.get()};
  const Index index = other.index();
  const Head head = headOf(repository.get());
  std::size_t changed = stagedChanges(repository.get(), index.get(), head.commit).size();
  const Walk walk = workTreeChanges(
      repository.get(), index.get(), {schema::Untracked::ALL, other.workTree(), {}}, patience,
      [&changed](const Change&) { ++changed; }, [&changed](std::string_view) { ++changed; });
  if (walk == Walk::kCutShort) throw Refusal{"timed_out", "worktree"};
  if (changed > 0) throw Refusal{"not_clean", "worktree", std::to_string(changed)};
}

Plan planWorktreeAdd(const Planning& planning, schema::GitWorktreeAdd::Reader request) {
  Plan plan;
  plan.set.operation = "worktree-add";
  const Opened& opened = planning.opened;
  const std::string name = checkedWorktreeName(view(request.getName()));
  const std::string directory = checkedPath(view(request.getDirectory()));
  if (directory.empty()) throw Refusal{"invalid", "directory"};
  const std::string branch =
      checkedRefName(request.hasBranch() ? view(request.getBranch()) : view(request.getName()), "branch");
  plan.target = labelOf("worktree", name);
  if (planning.writer().at(directory) != TreeWriter::There::kNothing) throw Refusal{"exists", "directory"};
  for (const WorktreeRow& row : worktrees(opened)) {
    if (row.name == name && !row.main) throw Refusal{"exists", "worktree"};
    if (row.branch == branch && !row.missing) throw Refusal{"exists", "checked_out_elsewhere"};
  }
  const std::string full = std::string(kHeads) + branch;
  std::string commit = refStateOf(opened.repository, full);
  if (commit.empty()) {
    const Head head = headOf(opened.repository);
    if (head.unborn()) throw Refusal{"not_found", "no_commit_yet"};
    commit = hexOf(head.commit);
    plan.set.refs.push_back({full, {}, commit});
  }
  plan.set.worktree = {WorktreeEdit::What::kAdd, name, directory, std::string(kSymbolic) + full};
  plan.files = static_cast<std::uint32_t>(filesOf(opened, oidOf(commit)));
  plan.basis = commit;
  return plan;
}

Plan planWorktreeRemove(const Planning& planning, schema::GitWorktreeRemove::Reader request) {
  Plan plan;
  plan.set.operation = "worktree-remove";
  const std::string name = checkedWorktreeName(view(request.getName()));
  plan.target = labelOf("worktree", name);
  for (const WorktreeRow& row : worktrees(planning.opened)) {
    if (row.main || row.name != name) continue;
    if (row.locked) throw Refusal{"locked", "worktree"};
    if (row.directory.empty() || row.directory == ".") throw Refusal{"scope_violation", "worktree"};
    if (!row.missing) mustHoldNothingNew(planning.opened, row, planning.patience);
    const std::string head =
        row.branch.empty() ? row.commit : std::string(kSymbolic) + std::string(kHeads) + row.branch;
    plan.set.worktree = {WorktreeEdit::What::kRemove, name, row.directory, head};
    plan.basis = row.commit;
    plan.notes.emplace_back("ignored_files_are_not_kept");
    return plan;
  }
  throw Refusal{"not_found", "worktree"};
}

void addWorktree(const Opened& opened, const WorktreeEdit& edit) {
  const std::string admin = "worktrees/" + edit.name;
  const std::string path = opened.place.workTree.path + "/" + edit.directory;
  const sandbox::Fd private_ = makeDirectories(opened.place.commonDir.handle.get(), admin);
  writeFile(private_.get(), "commondir", "../..\n");
  writeFile(private_.get(), "gitdir", path + "/.git\n");
  writeFile(private_.get(), "HEAD", edit.head + "\n");
  const sandbox::Fd directory = makeDirectories(opened.workTree(), edit.directory);
  writeFile(directory.get(), ".git", "gitdir: " + opened.place.commonDir.path + "/" + admin + "\n");
  populate(opened, edit, directory.get(), admin);
}

void removeWorktree(const Opened& opened, const WorktreeEdit& edit) {
  const auto removed = [](int base, const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const sandbox::Fd parent =
        openBeneath(base, slash == std::string::npos ? "." : path.substr(0, slash), O_RDONLY | O_DIRECTORY);
    return parent &&
           sandbox::removeTree(parent.get(), path.substr(slash + 1).c_str()) == sandbox::Removal::kGone;
  };
  mustWrite(removed(opened.workTree(), edit.directory));
  mustWrite(removed(opened.place.commonDir.handle.get(), "worktrees/" + edit.name));
}

}  // namespace factionos::git
