// Linked working trees: judged and removed. A removal that has begun is finished, by whoever comes to it
// next.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/text.h"
#include "sandbox/entries.h"
#include "sandbox/remove_tree.h"
#include "workers/git/carry_out.h"
#include "workers/git/deltas.h"
#include "workers/git/files.h"
#include "workers/git/sparse.h"

namespace factionos::git {
namespace {

constexpr std::string_view kWorktrees = "worktrees/";
constexpr std::string_view kNoDirectory = "-";
constexpr std::string_view kMark = "factionos-gone-";
constexpr std::string_view kCleared = " cleared";  // as long as the next, which is written over it
constexpr std::string_view kEmptied = " emptied";
constexpr std::size_t kMostMarkBytes = 64;

void mustWrite(bool fact) {
  git::mustWrite(fact, "worktree");
}

// What is being removed has this name, beside its own.
std::string asideOf(const std::string& actionId) {
  return ".factionos-" + actionId + "-gone";
}

// In what the repository keeps of a worktree, from before anything goes until all else has: which action
// removes it, and which directory; then that this was judged where it is now, so that it goes; at last that
// it is empty, so that nobody misses it.
std::string markOf(const std::string& actionId) {
  return std::string(kMark) + actionId;
}

std::string textOf(const sandbox::Fd& directory) {
  const auto identity = directory ? identityOf(directory.get()) : std::nullopt;
  if (!identity) return std::string(kNoDirectory);
  return std::to_string(identity->device) + "." + std::to_string(identity->inode);
}

// From one moment to the next, so that what has begun to go is nobody's working tree any more. Throws Refusal
// where something else has the name by now, which keeps it, or where that has been given anew meanwhile keeps
// the name `aside`.
void setAside(int parent, const std::string& leaf, const std::string& aside, const sandbox::Fd& held) {
  errno = renameToFree(parent, leaf, aside);
  mustWrite(errno == 0);
  if (textOf(openBeneath(parent, aside, O_PATH)) == textOf(held)) return;
  const bool isBack = renameToFree(parent, aside, leaf) == 0;
  throw Refusal{"not_this_worktree", isBack ? "directory" : "kept_aside"};
}

// Whether it is gone.
bool removeAside(int parent, const std::string& aside, const sandbox::Fd& held) {
  sandbox::emptyTree(held.get());
  return unlinkat(parent, aside.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

void extend(const sandbox::Fd& mark, const sandbox::Fd& directory, std::string_view how) {
  const std::string text = textOf(directory) + std::string(how);
  mustWrite(pwrite(mark.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
}

// Whether it is that directory, and has begun to go.
bool isGoing(const std::string& mark, const sandbox::Fd& directory) {
  const std::string text = textOf(directory);
  return mark == text + std::string(kCleared) || mark == text + std::string(kEmptied);
}

// Empty; false where it can't be looked into.
bool isEmpty(sandbox::Fd directory) {
  const sandbox::DirectoryStream stream = sandbox::streamOf(std::move(directory));
  return stream && sandbox::nextEntry(stream.get()) == nullptr;
}

// The same of a worktree's directory, by the mark.
bool removeAside(int parent, const std::string& aside, const sandbox::Fd& held, const sandbox::Fd& mark) {
  sandbox::emptyTree(held.get());
  if (!isEmpty(openBeneath(held.get(), ".", O_RDONLY | O_DIRECTORY))) return false;
  extend(mark, held, kEmptied);
  return unlinkat(parent, aside.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

// `gitdir` goes first: what has none is no worktree to git.
bool removeEntry(int common, const std::string& name, const std::string& actionId, const sandbox::Fd& entry) {
  const std::string aside = std::string(kWorktrees) + asideOf(actionId);
  unlinkat(entry.get(), "gitdir", 0);
  setAside(common, std::string(kWorktrees) + name, aside, entry);
  return removeAside(common, aside, entry);
}

// The directory's own `.git` names this worktree and no other, and this worktree names it: else it is
// somebody's whom nobody asked about.
bool namesEachOther(const Opened& opened, const LinkedTree& tree, const WorktreeRow& row) {
  constexpr std::string_view kPrefix = "gitdir: ";
  const auto text = readSmall(tree.directory.get(), ".git", PATH_MAX + 16);
  if (!text || !text->starts_with(kPrefix)) return false;
  std::string path = text->substr(kPrefix.size(), text->find_first_of("\r\n") - kPrefix.size());
  if (!path.starts_with('/')) path = row.path + "/" + path;
  const sandbox::Fd named = openDirectory(std::filesystem::path(path).lexically_normal().string());
  return named && identityOf(named.get()) == identityOf(tree.admin.get()) &&
         row.path == opened.place.workTree.path + "/" + row.directory;
}

// What another removal has left of the directory, which was judged when that began.
void findRest(LinkedTree& tree) {
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(tree.admin.get(), ".", O_RDONLY | O_DIRECTORY));
  while (const dirent* entry = stream ? sandbox::nextEntry(stream.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kMark)) continue;
    const std::string aside = asideOf(std::string(name.substr(kMark.size())));
    sandbox::Fd rest = openBeneath(tree.parent.get(), aside, O_RDONLY | O_DIRECTORY);
    const auto mark = readSmall(tree.admin.get(), entry->d_name, kMostMarkBytes);
    if (!rest || !mark || !isGoing(*mark, rest)) continue;
    tree.leaf = aside;
    tree.directory = std::move(rest);
    tree.begun = true;
    return;
  }
}

LinkedTree held(const Opened& opened, const WorktreeRow& row) {
  const std::string path = checkedPath(row.directory);
  const auto [above, leaf] = splitOf(path);
  LinkedTree tree;
  tree.leaf = leaf;
  tree.name = row.name;
  tree.admin =
      openBeneath(opened.place.commonDir.handle.get(), "worktrees/" + row.name, O_RDONLY | O_DIRECTORY);
  if (!tree.admin) throw Refusal{"not_found", "worktree"};
  tree.parent = openBeneath(opened.workTree(), above, O_RDONLY | O_DIRECTORY);
  if (tree.parent) tree.directory = openBeneath(tree.parent.get(), tree.leaf, O_RDONLY | O_DIRECTORY);
  if (!tree.directory && errno != ENOENT) throw Refusal{"not_this_worktree", "directory"};
  if (tree.directory && !namesEachOther(opened, tree, row)) throw Refusal{"not_this_worktree", "directory"};
  if (!tree.directory && tree.parent) findRest(tree);
  return tree;
}

// What git and libgit2 don't tell of the folders of a working tree.
struct Folders {
  std::size_t closed = 0;  // that can't be looked into, ignored ones aside: to those two they hold nothing
  std::size_t repositories =
      0;  // somebody's, with commits that may lie nowhere else; in ignored ones as well
};

// Those that are ignored, one after the other: they may be many, and deep. One that can't be looked into is
// no reason to keep the others, as a cache's.
void lookIntoIgnored(const Opened& opened, std::string first, Patience& patience, Folders& found) {
  for (std::vector<std::string> left = {std::move(first)}; !left.empty();) {
    const std::string folder = std::move(left.back());
    left.pop_back();
    if (patience.over()) throw Refusal{"timed_out", "worktree"};
    const sandbox::DirectoryStream stream =
        sandbox::streamOf(openBeneath(opened.workTree(), folder, O_RDONLY | O_DIRECTORY));
    int parts = 0;  // of a bare one, by which git knows it
    while (const dirent* entry = stream ? sandbox::nextEntry(stream.get()) : nullptr) {
      const std::string_view name = entry->d_name;
      if (name == ".git") ++found.repositories;
      if (name == "HEAD" || name == "objects" || name == "refs") ++parts;
      if (name != ".git" && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
        left.push_back(folder + "/" + entry->d_name);
    }
    if (parts == 3) ++found.repositories;
  }
}

void lookInto(const Opened& opened, const std::string& folder, Patience& patience, Folders& found) {
  if (patience.over()) throw Refusal{"timed_out", "worktree"};
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(opened.workTree(), folder, O_RDONLY | O_DIRECTORY));
  if (!stream) {
    if (errno != ENOENT) ++found.closed;
    return;
  }
  while (const dirent* entry = sandbox::nextEntry(stream.get())) {
    if (std::string_view(entry->d_name) == ".git") {
      if (folder != ".") ++found.repositories;
      continue;
    }
    struct stat status {};
    const bool told = fstatat(dirfd(stream.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (told ? !S_ISDIR(status.st_mode) : errno == ENOENT) continue;
    const std::string path = folder == "." ? entry->d_name : folder + "/" + entry->d_name;
    int ignored = 0;
    must(git_ignore_path_is_ignored(&ignored, opened.repository, path.c_str()));
    if (ignored != 0) {
      lookIntoIgnored(opened, path, patience, found);
    } else if (told) {
      lookInto(opened, path, patience, found);
    } else {
      ++found.closed;
    }
  }
}

// What lies below it would go with it: another of this repository's worktrees, whatever can be seen of it,
// and the repository itself, which may lie in one that was made elsewhere.
void mustHoldNoWorktree(const Opened& opened, const LinkedTree& tree, const WorktreeRow& row) {
  const auto liesBelow = [&row](const WorktreeRow& other) {
    return other.path.starts_with(row.path + "/") && (!other.missing || other.locked);
  };
  const auto rows = worktrees(opened);
  if (std::ranges::any_of(rows, liesBelow) ||
      liesWithin(opened.place.commonDir.handle.get(), {tree.directory.get()}))
    throw Refusal{"not_clean", "nested_worktree"};
}

// The repositories of its submodules lie in what the repository keeps of it, with commits that may be nowhere
// else.
void mustKeepNoSubmodules(const LinkedTree& tree) {
  struct stat status {};
  if (fstatat(tree.admin.get(), "modules", &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) return;
  throw Refusal{"not_clean", "submodules"};
}

// A submodule's files are judged by nobody here: it is to have none.
void mustHoldNoSubmodules(const Opened& opened, git_index* index) {
  for (std::size_t i = 0; i < git_index_entrycount(index); ++i) {
    const git_index_entry* entry = git_index_get_byindex(index, i);
    if (entry->mode != GIT_FILEMODE_COMMIT) continue;
    sandbox::Fd folder = openBeneath(opened.workTree(), entry->path, O_RDONLY | O_DIRECTORY);
    if (!folder && errno == ENOENT) continue;
    if (!isEmpty(std::move(folder))) throw Refusal{"not_clean", "submodules"};
  }
}

// Whether the entry names the directory that the removal was of, or none any more: that goes first.
bool namesNoOther(const Opened& opened, const WorktreeEdit& edit) {
  const auto rows = worktrees(opened);
  const auto row = std::ranges::find_if(
      rows, [&](const WorktreeRow& each) { return !each.main && each.name == edit.name; });
  return row != rows.end() && (row->path.empty() || row->directory == edit.directory);
}

// Nothing that is in no commit may be lost. How many files git tracks in it.
std::uint32_t mustHoldNothing(const LinkedTree& tree, Patience& patience) {
  mustKeepNoSubmodules(tree);
  const Repository repository = openRepository(*tree.place);
  const Opened other{*tree.place, repository.get()};
  mustBeIdle(other);
  const Index index = other.index();
  mustHoldNoSubmodules(other, index.get());
  unmarkWhateverIsThere(other, index.get());
  const Head head = headOf(repository.get());
  std::size_t changed = stagedChanges(repository.get(), index.get(), head.commit).size();
  changed += conflictsOf(index.get()).size();
  const Walk walk = workTreeChanges(
      repository.get(), index.get(), {schema::Untracked::ALL, other.workTree(), {}}, patience,
      [&changed](const Change&) { ++changed; }, [&changed](std::string_view) { ++changed; });
  if (walk == Walk::kCutShort) throw Refusal{"timed_out", "worktree"};
  Folders folders;
  lookInto(other, ".", patience, folders);
  changed += folders.closed;
  if (changed > 0) throw Refusal{"not_clean", "worktree", std::to_string(changed)};
  if (folders.repositories > 0)
    throw Refusal{"not_clean", "nested_repository", std::to_string(folders.repositories)};
  return static_cast<std::uint32_t>(git_index_entrycount(index.get()));
}

// Under its other name, by which nobody looks for it: what was written by its own since it was judged counts.
void judgeAside(LinkedTree& tree, const std::string& aside, Patience& patience) {
  std::string& path = tree.place->workTree.path;
  path = splitOf(path).above + "/" + aside;
  try {
    mustHoldNothing(tree, patience);
  } catch (const Refusal&) {
    if (renameToFree(tree.parent.get(), aside, tree.leaf) != 0)
      throw Refusal{"not_this_worktree", "kept_aside"};
    throw;
  }
}

}  // namespace

std::string LinkedTree::basis() const {
  const std::optional<Identity> identity = identityOf(directory.get());
  std::string text = leaf + '\0';
  if (identity) text += std::to_string(identity->device) + "." + std::to_string(identity->inode);
  return text + '\n';
}

namespace {

LinkedTree judgedWorktree(const Opened& opened, const WorktreeRow& row, Patience& patience) {
  if (row.locked) throw Refusal{"locked", "worktree"};
  LinkedTree tree = held(opened, row);
  mustKeepNoSubmodules(tree);
  if (!tree.directory || tree.begun) return tree;
  mustHoldNoWorktree(opened, tree, row);
  const Directory& workspace = opened.place.workTree;
  tree.place =
      locate(row.path, {tree.directory.get(), workspace.handle.get(), opened.place.commonDir.handle.get()});
  tree.files = mustHoldNothing(tree, patience);
  return tree;
}

}  // namespace

void addRemoval(const Planning& planning, const WorktreeRow& row, Plan& plan) {
  plan.removed = judgedWorktree(planning.opened, row, planning.patience);
  // As it is by now, so that it comes back to that.
  plan.set.worktree->head =
      row.branch.empty() ? row.commit : std::string(kSymbolic) + std::string(kHeads) + row.branch;
  plan.basis += row.commit + '\n' + row.directory + '\n' + plan.removed->basis();
}

Plan planWorktreeRemove(const Planning& planning, schema::GitWorktreeRemove::Reader request) {
  Plan plan;
  plan.set.operation = "worktree-remove";
  const std::string name = checkedWorktreeName(view(request.getName()));
  plan.target = labelOf("worktree", name);
  for (const WorktreeRow& row : worktrees(planning.opened)) {
    if (row.main || row.name != name) continue;
    if (row.path.empty()) throw Refusal{"not_this_worktree", "entry"};
    if (row.directory.empty() || row.directory == ".") throw Refusal{"scope_violation", "worktree"};
    const std::string directory = checkedPath(row.directory);
    if (isProtected(planning, directory)) throw Refusal{"path_protected", "directory"};
    plan.set.worktree = {WorktreeEdit::What::kRemove, name, directory, {}};
    addRemoval(planning, row, plan);
    plan.files = plan.removed->files;
    plan.notes.emplace_back("ignored_files_are_not_kept");
    return plan;
  }
  throw Refusal{"not_found", "worktree"};
}

// By what is held, so that nothing which was put in its place is touched.
void removeWorktree(const Opened& opened, LinkedTree& tree, const std::string& actionId, Patience& patience) {
  const std::string aside = asideOf(actionId);
  const sandbox::Fd mark = openBeneath(tree.admin.get(), markOf(actionId), O_WRONLY | O_CREAT | O_EXCL, 0666);
  mustWrite(mark && writeAll(mark.get(), textOf(tree.directory)) && fsync(mark.get()) == 0);
  if (tree.directory) {
    try {
      setAside(tree.parent.get(), tree.leaf, aside, tree.directory);
      if (!tree.begun) judgeAside(tree, aside, patience);
    } catch (const Refusal&) {
      unlinkat(tree.admin.get(), markOf(actionId).c_str(), 0);
      throw;
    }
    extend(mark, tree.directory, kCleared);
    mustWrite(removeAside(tree.parent.get(), aside, tree.directory, mark));
  }
  mustWrite(removeEntry(opened.place.commonDir.handle.get(), tree.name, actionId, tree.admin));
}

// Only where the action's mark is, and of the directory that it names. What has been moved or repaired since
// is somebody's, and loses the mark: by git, of which the entry tells, or by a plain mv, of which nothing
// does but that it is gone before it was emptied.
void finishRemoval(const Opened& opened, const WorktreeEdit& edit, const std::string& actionId) {
  const int common = opened.place.commonDir.handle.get();
  const std::string aside = asideOf(actionId);
  const std::string entryAside = std::string(kWorktrees) + aside;
  if (const sandbox::Fd rest = openBeneath(common, entryAside, O_RDONLY | O_DIRECTORY))
    removeAside(common, entryAside, rest);
  const sandbox::Fd entry = openBeneath(common, std::string(kWorktrees) + edit.name, O_RDONLY | O_DIRECTORY);
  const auto text = entry ? readSmall(entry.get(), markOf(actionId), kMostMarkBytes) : std::nullopt;
  const sandbox::Fd mark = text ? openBeneath(entry.get(), markOf(actionId), O_WRONLY) : sandbox::Fd();
  if (!mark) return;
  bool isGone = *text == kNoDirectory || text->ends_with(kEmptied);
  const auto [above, leaf] = splitOf(edit.directory);
  const sandbox::Fd parent = openBeneath(opened.workTree(), above, O_RDONLY | O_DIRECTORY);
  const bool isOurs = (parent || errno == ENOENT) && namesNoOther(opened, edit);
  if (isOurs && parent) {
    const sandbox::Fd rest = openBeneath(parent.get(), aside, O_RDONLY | O_DIRECTORY);
    if (rest && *text == textOf(rest)) {  // as whole as it was
      if (renameToFree(parent.get(), aside, leaf) == 0) unlinkat(entry.get(), markOf(actionId).c_str(), 0);
      return;
    }
    if (rest && (!isGoing(*text, rest) || !removeAside(parent.get(), aside, rest, mark))) return;
    struct stat status {};
    // Else that is somebody's.
    const bool isFree =
        fstatat(parent.get(), leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
    isGone = (rest || isGone) && isFree;
  }
  if (isOurs && isGone) {
    removeEntry(common, edit.name, actionId, entry);
  } else {
    unlinkat(entry.get(), markOf(actionId).c_str(), 0);
  }
}

}  // namespace factionos::git
