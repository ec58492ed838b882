// Linked working trees: made as git does, without opening the configuration that they share.
#include <cerrno>
#include <climits>
#include <exception>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/text.h"
#include "sandbox/remove_tree.h"
#include "workers/git/carry_out.h"
#include "workers/git/deltas.h"
#include "workers/git/files.h"

namespace factionos::git {
namespace {

void mustWrite(bool fact) {
  git::mustWrite(fact, "worktree");
}

void writeFile(int directory, const std::string& name, const std::string& text) {
  const sandbox::Fd file = openBeneath(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
  mustWrite(file && writeAll(file.get(), text));
}

// Beside what the repository keeps of a new worktree until that is whole: which action makes it.
std::string markOf(const std::string& actionId) {
  return "factionos-new-" + actionId;
}

// What the repository keeps of a worktree. `gitdir` goes first: what has none is no worktree to git. An
// action's mark goes after all that it stands for.
bool removeKept(int parent, const std::string& name, const sandbox::Fd& directory) {
  for (const char* each : {"gitdir", "HEAD", "commondir", "index.lock", "index"})
    unlinkat(directory.get(), each, 0);
  sandbox::emptyTree(directory.get());
  return unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

// A directory of ours and the one that it lies in. It must not have been there.
struct Fresh {
  sandbox::Fd parent;
  std::string leaf;
  sandbox::Fd directory;
};

Fresh makeFresh(int base, const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const auto [above, leaf] = splitOf(path.substr(0, slash));
    const sandbox::Fd parent = openBeneath(base, above, O_RDONLY | O_DIRECTORY);
    mustWrite(static_cast<bool>(parent));
    makeDirectory(parent.get(), leaf);
  }
  const auto [above, leaf] = splitOf(path);
  Fresh fresh{openBeneath(base, above, O_RDONLY | O_DIRECTORY), leaf, {}};
  mustWrite(static_cast<bool>(fresh.parent));
  if (!makeDirectory(fresh.parent.get(), fresh.leaf)) throw Refusal{"exists", "directory"};
  fresh.directory = openBeneath(fresh.parent.get(), fresh.leaf, O_RDONLY | O_DIRECTORY);
  if (!fresh.directory) {
    const int why = errno;
    unlinkat(fresh.parent.get(), fresh.leaf.c_str(), AT_REMOVEDIR);
    errno = why;
    mustWrite(false);
  }
  return fresh;
}

// Of the commit that a worktree's HEAD is on.
Tree treeOfHead(git_repository* repository, const std::string& head) {
  return treeOf(
      repository,
      oidOf(head.starts_with(kSymbolic) ? refStateOf(repository, head.substr(kSymbolic.size())) : head));
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
    filling.writer.put(path, state);
    filling.writer.describe(path, state, added);
    must(git_index_add(filling.index, &added));
    return 0;
  } catch (...) {
    filling.failure = std::current_exception();
    return GIT_EUSER;
  }
}

void populate(const Opened& opened, const Tree& tree, int directory, const std::string& admin,
              const std::string& mark) {
  const std::string path = opened.place.commonDir.path + "/" + admin + "/index";
  const Index index = make<Index>(git_index_open, path.c_str());
  Filling filling{opened.repository, TreeWriter(opened.repository, directory, mark), index.get()};
  const int error = git_tree_walk(tree.get(), GIT_TREEWALK_PRE, fillOne, &filling);
  if (filling.failure) std::rethrow_exception(filling.failure);
  must(error);
  must(git_index_write(index.get()));
}

struct Removing {
  TreeWriter writer;
  std::set<std::string> folders = {};  // tidied
};

int removeOne(const char* root, const git_tree_entry* entry, void* payload) {
  auto& removing = *static_cast<Removing*>(payload);
  if (git_tree_entry_type(entry) == GIT_OBJECT_TREE) return 0;
  try {
    const std::string path = checkedPath(std::string(root) + git_tree_entry_name(entry));
    const FileState made{static_cast<std::uint32_t>(git_tree_entry_filemode(entry)),
                         *git_tree_entry_id(entry)};
    if (removing.folders.insert(root).second) removing.writer.tidy(path);
    const Stamp stamp = removing.writer.stampOf(path);
    const FileState now = removing.writer.now(path);
    if (now.there() && now == made) removing.writer.remove(path, {made, stamp});
    // Where it had not come to be yet, the directories made for it go; of a submodule there is but one.
    if (!now.there()) removing.writer.removeDirectories(path);
  } catch (...) {  // it is no file of ours, or it can't be told, and stays
  }
  return 0;
}

std::string dotGitOf(const Opened& opened, const WorktreeEdit& edit) {
  return "gitdir: " + opened.place.commonDir.path + "/worktrees/" + edit.name + "\n";
}

// Files that are what they were made as go, and the directory where that leaves it empty; what else lies
// there is somebody's. `tree`: none where nobody can tell any more what was made; then the files stay. As far
// as it goes: what can't be removed keeps nothing else from going.
void removeMade(const Opened& opened, const WorktreeEdit& edit, const Tree& tree, const Fresh& made,
                const std::string& mark) {
  const std::string name = dotGitOf(opened, edit);
  const auto text = made.directory ? readSmall(made.directory.get(), ".git", name.size()) : std::nullopt;
  if (text && name.starts_with(*text)) {
    Removing removing{TreeWriter(opened.repository, made.directory.get(), mark)};
    if (tree) git_tree_walk(tree.get(), GIT_TREEWALK_POST, removeOne, &removing);
    unlinkat(made.directory.get(), ".git", 0);
  }
  if (made.parent) unlinkat(made.parent.get(), made.leaf.c_str(), AT_REMOVEDIR);
}

// What would stop it in the middle, found before anything is made.
struct Judging {
  const Planning& planning;
  git_oid commit;
  Index index;  // in memory: refuses names that must not be written
  TreeWriter writer;
  std::size_t files = 0;
  std::size_t protectedFiles = 0;
  std::exception_ptr failure = nullptr;

  void judge(const std::string& path, const FileState& state) {
    if (++files > kMostTouched) throw Refusal{"too_large", "files"};
    if (planning.patience.over()) throw Refusal{"timed_out", "worktree"};
    git_index_entry entry{};
    entry.path = path.c_str();
    entry.mode = state.mode;
    entry.id = state.id;
    if (git_index_add(index.get(), &entry) < 0) throw Refusal{"invalid", "file_name"};
    if (state.mode == GIT_FILEMODE_COMMIT) return;
    mustNeedNoProgram(planning.opened.repository, path, commit);
    if (isProtected(planning, path) && !isAsHere(path, state)) ++protectedFiles;
  }

  // Whoever opens the new directory is to meet no other settings than where it was made from.
  [[nodiscard]] bool isAsHere(const std::string& path, const FileState& state) const {
    try {
      return writer.take(path, Store::kDry) == state;
    } catch (const Refusal&) {
      return false;
    }
  }
};

int judgeOne(const char* root, const git_tree_entry* entry, void* payload) {
  auto& judging = *static_cast<Judging*>(payload);
  if (git_tree_entry_type(entry) == GIT_OBJECT_TREE) return 0;
  try {
    judging.judge(checkedPath(std::string(root) + git_tree_entry_name(entry)),
                  {static_cast<std::uint32_t>(git_tree_entry_filemode(entry)), *git_tree_entry_id(entry)});
    return 0;
  } catch (...) {
    judging.failure = std::current_exception();
    return GIT_EUSER;
  }
}

}  // namespace

std::uint32_t judgedNewWorktree(const Planning& planning, const git_oid& commit) {
  const Tree tree = treeOf(planning.opened.repository, commit);
  Judging judging{planning, commit, make<Index>(git_index_new), planning.writer()};
  const int error = git_tree_walk(tree.get(), GIT_TREEWALK_PRE, judgeOne, &judging);
  if (judging.failure) std::rethrow_exception(judging.failure);
  must(error);
  if (judging.protectedFiles > 0)
    throw Refusal{"path_protected", "files", std::to_string(judging.protectedFiles)};
  return static_cast<std::uint32_t>(judging.files);
}

void mustBeNoWorktree(const Planning& planning, const std::string& name, const std::string& directory) {
  if (planning.writer().at(directory) != TreeWriter::There::kNothing) throw Refusal{"exists", "directory"};
  for (const WorktreeRow& row : worktrees(planning.opened))
    if (!row.main && (row.name == name || row.directory == directory)) throw Refusal{"exists", "worktree"};
}

Plan planWorktreeAdd(const Planning& planning, schema::GitWorktreeAdd::Reader request) {
  Plan plan;
  plan.set.operation = "worktree-add";
  const Opened& opened = planning.opened;
  const std::string name = checkedWorktreeName(view(request.getName()));
  const std::string directory = checkedPath(view(request.getDirectory()));
  if (directory.empty()) throw Refusal{"invalid", "directory"};
  if (isProtected(planning, directory)) throw Refusal{"path_protected", "directory"};
  const std::string full =
      checkedBranch(request.hasBranch() ? view(request.getBranch()) : view(request.getName()));
  plan.target = labelOf("worktree", name);
  mustBeNoWorktree(planning, name, directory);
  mustBeNowhereElse(planning, full);
  std::string commit = branchStateOf(opened.repository, full);
  if (commit.empty()) {
    const Head head = headOf(opened.repository);
    if (head.unborn()) throw Refusal{"not_found", "no_commit_yet"};
    commit = hexOf(head.commit);
    plan.set.refs.push_back({full, {}, commit});
  }
  plan.set.worktree = {WorktreeEdit::What::kAdd, name, directory, std::string(kSymbolic) + full};
  plan.files = judgedNewWorktree(planning, oidOf(commit));
  plan.basis = commit;
  return plan;
}

// All of it or nothing.
void addWorktree(const Opened& opened, const WorktreeEdit& edit, const std::string& mark) {
  const std::string admin = "worktrees/" + edit.name;
  const std::string path = opened.place.workTree.path + "/" + edit.directory;
  const Tree tree = treeOfHead(opened.repository, edit.head);  // by which it would go as well
  const Fresh private_ = makeFresh(opened.place.commonDir.handle.get(), admin);
  std::optional<Fresh> made;
  try {
    writeFile(private_.directory.get(), markOf(mark), "");
    writeFile(private_.directory.get(), "commondir", "../..\n");
    writeFile(private_.directory.get(), "gitdir", path + "/.git\n");
    writeFile(private_.directory.get(), "HEAD", edit.head + "\n");
    made = makeFresh(opened.workTree(), edit.directory);
    writeFile(made->directory.get(), ".git", dotGitOf(opened, edit));
    populate(opened, tree, made->directory.get(), admin, mark);
    mustWrite(unlinkat(private_.directory.get(), markOf(mark).c_str(), 0) == 0);
  } catch (...) {
    const std::exception_ptr why = std::current_exception();
    if (made) removeMade(opened, edit, tree, *made, mark);
    removeKept(private_.parent.get(), private_.leaf, private_.directory);
    std::rethrow_exception(why);
  }
}

// Only where the action's mark is: what has none is somebody's, such as a `git worktree add` under way. Its
// index is written last.
void tidyNewWorktree(const Opened& opened, const WorktreeEdit& edit, const std::string& mark) {
  const int common = opened.place.commonDir.handle.get();
  const std::string admin = "worktrees/" + edit.name;
  const sandbox::Fd half = openBeneath(common, admin, O_RDONLY | O_DIRECTORY);
  if (!half) return;
  if (!openBeneath(half.get(), markOf(mark), O_PATH)) {
    unlinkat(common, admin.c_str(), AT_REMOVEDIR);  // where it is empty: ours has the mark before all else
    return;
  }
  if (const auto index = identityOf(openBeneath(half.get(), "index", O_PATH).get())) {
    // libgit2 puts a file in place by a link, and then takes its lock's name away.
    if (identityOf(openBeneath(half.get(), "index.lock", O_PATH).get()) == index)
      unlinkat(half.get(), "index.lock", 0);
    unlinkat(half.get(), markOf(mark).c_str(), 0);
    return;
  }
  const auto [above, leaf] = splitOf(edit.directory);
  Fresh made{openBeneath(opened.workTree(), above, O_RDONLY | O_DIRECTORY), leaf, {}};
  if (made.parent) made.directory = openBeneath(made.parent.get(), leaf, O_RDONLY | O_DIRECTORY);
  Tree tree;
  try {
    tree = treeOfHead(opened.repository, edit.head);
  } catch (const Refusal&) {  // its branch is gone
  }
  removeMade(opened, edit, tree, made, mark);
  removeKept(common, admin, half);
}

}  // namespace factionos::git
