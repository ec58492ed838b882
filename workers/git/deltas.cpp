#include "workers/git/deltas.h"

#include <algorithm>
#include <cerrno>
#include <exception>

#include <fcntl.h>
#include <sys/stat.h>

#include "sandbox/entries.h"
#include "workers/git/change_set.h"
#include "workers/git/files.h"
#include "workers/git/filters.h"
#include "workers/git/sparse.h"
#include "workers/git/suspects.h"

namespace factionos::git {
namespace {

constexpr std::size_t kRenameLimit = 1000;  // git's own for status

bool isSubmodule(const git_diff_delta& delta) {
  return delta.old_file.mode == GIT_FILEMODE_COMMIT || delta.new_file.mode == GIT_FILEMODE_COMMIT;
}

// What the callbacks of one walk share. They run within C code, so what is thrown waits until it has
// returned.
struct Walking {
  git_repository* repository;
  git_index* index;
  const WorkTreeQuery& query;
  Patience& patience;
  const std::function<void(const Change&)>& tracked;
  const std::function<void(std::string_view)>& untracked;
  std::exception_ptr failure = nullptr;
  Walk walk = Walk::kWhole;
};

// The type of what lies there; 0: nothing, or what is but reached through a symbolic link.
mode_t kindAt(int workTree, const std::string& path) {
  const Split split = splitOf(path);
  const sandbox::Fd parent = openBeneath(workTree, split.above, O_PATH | O_DIRECTORY);
  struct stat status {};
  const bool there = parent && fstatat(parent.get(), split.leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  return there ? status.st_mode & S_IFMT : 0;
}

// A FIFO, a socket or a device, none of which libgit2 sees; to git itself it is the file, changed.
bool isSpecial(int workTree, const std::string& path) {
  const mode_t kind = kindAt(workTree, path);
  return kind != 0 && !S_ISREG(kind) && !S_ISLNK(kind) && !S_ISDIR(kind);
}

bool isBelow(const std::vector<std::string>& below, std::string_view path) {
  return below.empty() || std::ranges::any_of(below, [path](const std::string& each) {
           return path.starts_with(each) &&
                  (path.size() == each.size() || path[each.size()] == '/' || each.ends_with('/'));
         });
}

// What is there of them is new, also where it is empty as the entry has it, which libgit2 takes for the same.
void tellIntended(const Walking& walking, const std::vector<std::string>& below) {
  for (std::size_t at = 0; at < git_index_entrycount(walking.index); ++at) {
    const git_index_entry& entry = *git_index_get_byindex(walking.index, at);
    if (!isIntended(entry) || isMarkedLeftOut(walking.index, entry.path)) continue;
    const mode_t kind = isBelow(below, entry.path) ? kindAt(walking.query.workTree, entry.path) : 0;
    const bool there = kind != 0 && !S_ISDIR(kind);
    if (there) walking.tracked({entry.path, {}, schema::GitEdit::ADDED, false, false});
  }
}

void tellTracked(Walking& walking, const git_diff_delta& delta) {
  Change change{delta.old_file.path, {}, editOf(delta.status), isSubmodule(delta), false};
  if (change.edit == schema::GitEdit::NONE || isMarkedLeftOut(walking.index, delta.old_file.path)) return;
  // Once: those of them that are there have their own look.
  if (isIntended(walking.index, change.path) &&
      (change.edit != schema::GitEdit::DELETED || isSpecial(walking.query.workTree, change.path)))
    return;
  if (change.edit == schema::GitEdit::MODIFIED && !change.submodule) {
    const FilterKind kind = filterOf(walking.repository, change.path);
    switch (judgeFiltered(walking.repository, kind, delta.old_file.id, walking.query.workTree, change.path)) {
      case Judgement::kSame:
        return;
      case Judgement::kChanged:
        break;
      case Judgement::kUnknown:
        change.unjudged = true;
    }
  }
  if (change.edit == schema::GitEdit::DELETED && isSpecial(walking.query.workTree, change.path))
    change.edit = schema::GitEdit::MODIFIED;
  walking.tracked(change);
}

// Whether anything below a directory is neither tracked nor ignored: libgit2 looks at its first level alone.
// A repository of its own is one thing. What can't be looked at may hold anything.
bool holdsUntracked(Walking& walking, const std::string& directory) {
  if (walking.patience.over()) return true;
  const sandbox::DirectoryStream stream =
      sandbox::streamOf(openBeneath(walking.query.workTree, directory, O_RDONLY | O_DIRECTORY));
  if (!stream) return errno != ENOENT;
  while (const dirent* entry = sandbox::nextEntry(stream.get())) {
    const std::string path = directory + entry->d_name;
    if (std::string_view(entry->d_name) == ".git") return true;
    int ignored = 0;
    must(git_ignore_path_is_ignored(&ignored, walking.repository, path.c_str()));
    if (ignored != 0) continue;
    struct stat status {};
    if (fstatat(walking.query.workTree, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
    // Sockets and the like are nothing that could be tracked.
    if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) return true;
    if (S_ISDIR(status.st_mode) && holdsUntracked(walking, path + "/")) return true;
  }
  return false;
}

// Nothing is added to the difference itself: it stays empty however much there is.
int notify(const git_diff*, const git_diff_delta* delta, const char*, void* payload) {
  constexpr int kDoNotAdd = 1;
  auto& walking = *static_cast<Walking*>(payload);
  try {
    if (delta->status == GIT_DELTA_UNTRACKED) {
      const std::string path = delta->new_file.path;
      if (!path.ends_with('/') || holdsUntracked(walking, path)) walking.untracked(path);
    } else {
      tellTracked(walking, *delta);
    }
    return kDoNotAdd;
  } catch (...) {
    walking.failure = std::current_exception();
    return GIT_EUSER;
  }
}

int progress(const git_diff*, const char*, const char*, void* payload) {
  auto& walking = *static_cast<Walking*>(payload);
  if (!walking.patience.over()) return 0;
  walking.walk = Walk::kCutShort;
  return GIT_EUSER;
}

git_diff_options optionsFor(Walking& walking, std::vector<char*>& below) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_INCLUDE_TYPECHANGE | GIT_DIFF_IGNORE_SUBMODULES | GIT_DIFF_DISABLE_PATHSPEC_MATCH;
  if (walking.query.untracked != schema::Untracked::NO) options.flags |= GIT_DIFF_INCLUDE_UNTRACKED;
  if (walking.query.untracked == schema::Untracked::ALL) options.flags |= GIT_DIFF_RECURSE_UNTRACKED_DIRS;
  options.notify_cb = notify;
  options.progress_cb = progress;
  options.payload = &walking;
  for (const std::string& path : walking.query.below) below.push_back(const_cast<char*>(path.c_str()));
  options.pathspec = {below.data(), below.size()};
  return options;
}

schema::GitConflict kindOf(const git_index_entry* ancestor, const git_index_entry* ours,
                           const git_index_entry* theirs) {
  using Kind = schema::GitConflict;
  if (ours != nullptr && theirs != nullptr)
    return ancestor != nullptr ? Kind::BOTH_MODIFIED : Kind::BOTH_ADDED;
  if (ours != nullptr) return ancestor != nullptr ? Kind::DELETED_BY_THEM : Kind::ADDED_BY_US;
  if (theirs != nullptr) return ancestor != nullptr ? Kind::DELETED_BY_US : Kind::ADDED_BY_THEM;
  return Kind::BOTH_DELETED;
}

}  // namespace

bool isIntended(const git_index_entry& entry) {
  return (entry.flags_extended & GIT_INDEX_ENTRY_INTENT_TO_ADD) != 0;
}

bool isIntended(git_index* index, const std::string& path) {
  const git_index_entry* entry = git_index_get_bypath(index, path.c_str(), GIT_INDEX_STAGE_NORMAL);
  return entry != nullptr && isIntended(*entry);
}

bool holdsIntended(git_index* index) {
  for (std::size_t at = 0; at < git_index_entrycount(index); ++at)
    if (isIntended(*git_index_get_byindex(index, at))) return true;
  return false;
}

Index withoutIntended(git_index* index) {
  if (!holdsIntended(index)) return Index();
  Index copy = make<Index>(git_index_new);
  for (std::size_t at = 0; at < git_index_entrycount(index); ++at) {
    const git_index_entry& entry = *git_index_get_byindex(index, at);
    if (!isIntended(entry)) must(git_index_add(copy.get(), &entry));
  }
  return copy;
}

schema::GitEdit editOf(git_delta_t status) {
  switch (status) {
    case GIT_DELTA_ADDED:
      return schema::GitEdit::ADDED;
    case GIT_DELTA_DELETED:
      return schema::GitEdit::DELETED;
    case GIT_DELTA_MODIFIED:
      return schema::GitEdit::MODIFIED;
    case GIT_DELTA_RENAMED:
      return schema::GitEdit::RENAMED;
    case GIT_DELTA_TYPECHANGE:
      return schema::GitEdit::TYPE_CHANGED;
    default:
      return schema::GitEdit::NONE;
  }
}

void takeModesAsGitDoes(git_diff_options& options) {
  options.notify_cb = [](const git_diff*, const git_diff_delta* delta, const char*, void*) {
    return delta->status == GIT_DELTA_MODIFIED &&
                   git_oid_equal(&delta->old_file.id, &delta->new_file.id) != 0 &&
                   canonicalMode(delta->old_file.mode) == canonicalMode(delta->new_file.mode)
               ? 1
               : 0;
  };
}

std::vector<Change> stagedChanges(git_repository* repository, git_index* index, const git_oid& head) {
  const Tree tree = treeOf(repository, head);
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_INCLUDE_TYPECHANGE;
  takeModesAsGitDoes(options);
  const Index committed = withoutIntended(index);
  const Diff diff = make<Diff>(git_diff_tree_to_index, repository, tree.get(),
                               committed ? committed.get() : index, &options);
  git_diff_find_options similar = GIT_DIFF_FIND_OPTIONS_INIT;
  similar.flags = GIT_DIFF_FIND_RENAMES;
  similar.rename_limit = kRenameLimit;
  must(git_diff_find_similar(diff.get(), &similar));
  std::vector<Change> changes;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta& delta = *git_diff_get_delta(diff.get(), i);
    Change change{delta.new_file.path, {}, editOf(delta.status), isSubmodule(delta), false};
    if (change.edit == schema::GitEdit::NONE) continue;
    if (change.edit == schema::GitEdit::RENAMED) change.oldPath = delta.old_file.path;
    changes.push_back(std::move(change));
  }
  return changes;
}

Walk workTreeChanges(git_repository* repository, git_index* index, const WorkTreeQuery& query,
                     Patience& patience, const std::function<void(const Change&)>& tracked,
                     const std::function<void(std::string_view)>& untracked) {
  WorkTreeQuery narrowed = query;
  if (query.below.empty()) {
    // Of a name below a tracked directory libgit2 can't tell the directory from one that is new, unless it
    // may look at all of it.
    const NewNames names = query.untracked == schema::Untracked::NO    ? NewNames::kLeftOut
                           : query.untracked == schema::Untracked::ALL ? NewNames::kSuspects
                                                                       : NewNames::kEndTheLook;
    if (auto suspects = suspectsIn(repository, index, query.workTree, names, patience)) {
      if (suspects->empty()) return Walk::kWhole;
      narrowed.below = std::move(*suspects);
    }
  }
  Walking walking{repository, index, narrowed, patience, tracked, untracked};
  std::vector<char*> below;
  const git_diff_options options = optionsFor(walking, below);
  git_diff* raw = nullptr;
  const int error = git_diff_index_to_workdir(&raw, repository, index, &options);
  const Diff diff(raw);
  if (walking.failure) std::rethrow_exception(walking.failure);
  if (walking.walk == Walk::kWhole) {
    must(error);
    tellIntended(walking, query.below);
  }
  return walking.walk;
}

std::vector<Conflict> conflictsOf(git_index* index) {
  std::vector<Conflict> found;
  if (git_index_has_conflicts(index) == 0) return found;
  git_index_conflict_iterator* raw = nullptr;
  must(git_index_conflict_iterator_new(&raw, index));
  const Handle<git_index_conflict_iterator, git_index_conflict_iterator_free> iterator(raw);
  const git_index_entry* ancestor = nullptr;
  const git_index_entry* ours = nullptr;
  const git_index_entry* theirs = nullptr;
  int error = 0;
  while ((error = git_index_conflict_next(&ancestor, &ours, &theirs, raw)) == 0) {
    const git_index_entry* any = ours != nullptr ? ours : theirs != nullptr ? theirs : ancestor;
    found.push_back({any->path, kindOf(ancestor, ours, theirs)});
  }
  if (error != GIT_ITEROVER) must(error);
  return found;
}

}  // namespace factionos::git
