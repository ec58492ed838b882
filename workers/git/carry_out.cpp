#include "workers/git/carry_out.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <span>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>

#include "workers/git/index_lock.h"
#include "workers/git/plain_files.h"
#include "workers/git/snapshot.h"
#include "workers/git/sparse.h"

namespace factionos::git {
namespace {

// Nothing: whatever becomes of the index meanwhile, it is another matter.
std::optional<IndexLock::Use> lockOfIndex(schema::GitChange::Reader change) {
  switch (change.which()) {
    case schema::GitChange::BRANCH_CREATE:
    case schema::GitChange::FETCH:
    case schema::GitChange::PUSH:
      return std::nullopt;
    case schema::GitChange::COMMIT:
      return IndexLock::Use::kHold;
    default:
      return IndexLock::Use::kWrite;
  }
}

// As its plan is made, and no pack.
bool writesObjectsOneByOne(schema::GitChange::Reader change) {
  return change.isStage() || change.isCommit();
}

// References at once: those of a fetch may be more than there are descriptors, and change nothing else.
constexpr std::size_t kMostHeld = 32;

bool isFile(const FileState& state) {
  return state.there() && state.mode != GIT_FILEMODE_COMMIT;
}

TreeWriter::Judged judgedOf(const Plan& plan, const FileEdit& file) {
  const auto stamp = plan.stamps.find(file.path);
  return {file.before, stamp == plan.stamps.end() ? Stamp() : stamp->second};
}

// Before anything is written, and then of each once more.
void mustAllStillBe(const TreeWriter& writer, const Plan& plan) {
  for (const FileEdit& file : plan.set.files)
    if (isFile(file.before)) writer.mustStillBe(file.path, judgedOf(plan, file));
}

void putFiles(const Opened& opened, const Plan& plan, const std::string& mark) {
  const TreeWriter writer(opened.repository, opened.workTree(), mark);
  mustAllStillBe(writer, plan);
  for (const FileEdit& file : plan.set.files) {
    if (isFile(file.before) && !isFile(file.after)) writer.remove(file.path, judgedOf(plan, file));
    if (file.before.mode == GIT_FILEMODE_COMMIT && !file.after.there()) writer.removeDirectories(file.path);
  }
  for (const FileEdit& file : plan.set.files) {
    if (!file.after.there()) continue;
    if (isFile(file.before) && isFile(file.after)) {
      writer.putOver(file.path, file.after, judgedOf(plan, file));
    } else {
      writer.put(file.path, file.after);
    }
  }
}

// An index that is written, and what is marked in it as left out of the working tree: what was stays it,
// whatever its entry becomes. Of what is new and not there it is what a checkout, or its undoing, makes no
// file for, else what the patterns say, as by git's own reset.
struct Written {
  git_index* index;
  TreeWriter writer;
  LeftOut leftOut;
  bool isCheckout = false;
  std::set<std::string, std::less<>> files = {};

  Written(const Opened& opened, git_index* written, const ChangeSet& set)
      : index(written), writer(opened.repository, opened.workTree()), leftOut(opened, written) {
    // Its undoing may lead back to a HEAD on no branch, a commit goes from one such to another.
    isCheckout = std::ranges::any_of(set.refs, [](const RefEdit& ref) {
      return ref.name == "HEAD" && (ref.before.starts_with("ref: ") || ref.after.starts_with("ref: "));
    });
    for (const FileEdit& file : set.files) files.insert(file.path);
  }

  [[nodiscard]] std::uint16_t markOf(const IndexEdit& edit) const {
    const std::string& path = edit.path;
    const bool isFile = edit.after.stages[0].mode != GIT_FILEMODE_COMMIT;  // submodules have none to undo
    const bool isNew = git_index_get_bypath(index, path.c_str(), GIT_INDEX_STAGE_NORMAL) == nullptr;
    const bool marked = isNew && isCheckout && isFile
                            ? !files.contains(path)
                            : leftOut.of(path).value_or(isMarkedLeftOut(index, path));
    return static_cast<std::uint16_t>(marked && !writer.isThere(path) ? GIT_INDEX_ENTRY_SKIP_WORKTREE : 0);
  }
};

std::uint16_t intentOf(const IndexState& state) {
  return static_cast<std::uint16_t>(state.intended ? GIT_INDEX_ENTRY_INTENT_TO_ADD : 0);
}

void putEntry(const Written& written, const IndexEdit& edit) {
  git_index* index = written.index;
  const std::uint16_t mark = written.markOf(edit);
  must(git_index_remove_bypath(index, edit.path.c_str()));
  for (int stage = 0; stage < 4; ++stage) {
    const FileState& state = edit.after.stages[stage];
    if (!state.there()) continue;
    git_index_entry entry;
    if (stage == 0) {
      written.writer.describe(edit.path, state, entry);
      entry.flags_extended = static_cast<std::uint16_t>(mark | intentOf(edit.after));
    } else {
      entry = {};
      entry.path = edit.path.c_str();
      entry.mode = state.mode;
      entry.id = state.id;
    }
    entry.flags = static_cast<std::uint16_t>(stage << GIT_INDEX_ENTRY_STAGESHIFT);
    // Such as "GIT~1", which some file system would take for .git. Nothing has been written yet.
    if (git_index_add(index, &entry) < 0) throw Refusal{"invalid", "file_name"};
  }
}

// Times and numbers of a file that is not what the entry says would hide that it differs.
void putIndex(const Written& written, const ChangeSet& set) {
  for (const IndexEdit& edit : set.index) {
    putEntry(written, edit);
    const FileState& after = edit.after.stages[0];
    if (!after.there() || after.mode == GIT_FILEMODE_COMMIT) continue;
    FileState now;
    try {
      now = written.writer.take(edit.path, Store::kDry);
    } catch (const Refusal&) {
    }
    if (now.there() && git_oid_equal(&now.id, &after.id) != 0) continue;
    git_index_entry entry{};
    entry.path = edit.path.c_str();
    entry.mode = after.mode;
    entry.id = after.id;
    entry.flags_extended = static_cast<std::uint16_t>(written.markOf(edit) | intentOf(edit.after));
    must(git_index_add(written.index, &entry));
  }
}

void carryOutPlanned(const Opened& opened, Plan& plan, Patience& patience, IndexLock* lock,
                     const std::string& actionId, const RefWriter& refs) {
  const ChangeSet& set = plan.set;
  // What holds one of them up is met before anything is made.
  const auto first = std::span(set.refs).first(std::min(set.refs.size(), kMostHeld));
  RefWriter::Held held = refs.hold(first);
  std::optional<Written> written;
  if (lock != nullptr) written.emplace(opened, lock->index(), set);
  // In memory first: libgit2 refuses names here that must not be written anywhere.
  if (written && set.files.empty()) putIndex(*written, set);
  if (written && !set.files.empty())
    for (const IndexEdit& edit : set.index) putEntry(*written, edit);
  putFiles(opened, plan, actionId);
  if (written && !set.files.empty()) putIndex(*written, set);
  // Or what was written would be a change to be committed, which undoes what the branch has come to since.
  const auto& [branch, commit] = plan.goal;
  if (!branch.empty() && refStateOf(opened.repository, branch) != commit)
    throw Refusal{"state_moved", "ref_moved"};
  if (lock != nullptr && !set.index.empty()) lock->commit();
  if (plan.removed) removeWorktree(opened, *plan.removed, actionId, patience);
  if (plan.set.push) moveRemote(opened, *plan.set.push, actionId);
  const std::string message = "factionos: " + set.operation;
  refs.write(std::move(held), message);
  for (const RefEdit& ref : std::span(set.refs).subspan(first.size())) refs.write(ref, message);
  if (set.worktree && set.worktree->what == WorktreeEdit::What::kAdd)
    addWorktree(opened, *set.worktree, actionId);
}

// ---- After a crash.

enum class Side { kBefore, kAfter, kNeither };
struct Sides {
  std::size_t before = 0;
  std::size_t after = 0;
  void add(Side side) {
    if (side == Side::kBefore) ++before;
    if (side == Side::kAfter) ++after;
  }
};

template <typename T>
Side sideOf(const T& now, const T& before, const T& after) {
  if (now == after) return Side::kAfter;
  return now == before ? Side::kBefore : Side::kNeither;
}

// A branch that has gone on from what the action made shows it just as well.
Side sideOf(git_repository* repository, const RefEdit& ref) {
  const std::string now = refStateOf(repository, ref.name);
  const Side side = sideOf(now, ref.before, ref.after);
  if (side != Side::kNeither || now.size() != GIT_OID_HEXSZ || ref.after.size() != GIT_OID_HEXSZ) return side;
  const git_oid tip = oidOf(now);
  const git_oid made = oidOf(ref.after);
  return git_graph_descendant_of(repository, &tip, &made) == 1 ? Side::kAfter : side;
}

// Of a new one the index is written last of all. Of one that goes, the directory goes first and what the
// repository keeps of it last; between the two it is neither whole nor gone, and counts on both sides.
void addSides(const Opened& opened, const WorktreeEdit& edit, Sides& sides) {
  const auto rows = worktrees(opened);
  const bool whole = std::ranges::any_of(rows, [&](const WorktreeRow& row) {
    return row.name == edit.name && row.directory == edit.directory && !row.missing;
  });
  const int common = opened.place.commonDir.handle.get();
  const auto isKept = [&](const std::string& name) {
    struct stat status {};
    return fstatat(common, ("worktrees/" + edit.name + name).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  };
  if (edit.what == WorktreeEdit::What::kAdd)
    return sides.add(whole && isKept("/index") ? Side::kAfter : Side::kBefore);
  const TreeWriter writer(opened.repository, opened.workTree());
  const bool gone = !isKept("") && !writer.isThere(edit.directory);
  if (!gone) sides.add(Side::kBefore);
  if (!whole) sides.add(Side::kAfter);
}

std::vector<std::string> namesOf(const std::vector<RefEdit>& refs) {
  std::vector<std::string> names;
  for (const RefEdit& ref : refs) names.push_back(ref.name);
  return names;
}

Sides sidesOf(const Opened& opened, const ChangeSet& set) {
  Sides sides;
  const Index index = opened.index();
  for (const RefEdit& ref : set.refs) sides.add(sideOf(opened.repository, ref));
  for (const IndexEdit& edit : set.index)
    sides.add(sideOf(indexStateOf(index.get(), edit.path), edit.before, edit.after));
  const TreeWriter writer(opened.repository, opened.workTree());
  for (const FileEdit& file : set.files) {
    if (file.before.mode == GIT_FILEMODE_COMMIT || file.after.mode == GIT_FILEMODE_COMMIT) continue;
    try {
      sides.add(sideOf(writer.now(file.path), file.before, file.after));
    } catch (const Refusal&) {
    }
  }
  if (set.worktree) addSides(opened, *set.worktree, sides);
  return sides;
}

Outcome carryOut(const PlainFilesOnly& met, const Place& place, const std::string& actionId,
                 schema::GitChange::Reader change, const std::string& state, Patience& patience,
                 std::string& snapshot) {
  const Repository repository = openRepository(place);
  const Opened opened{place, repository.get()};
  if (snapshotOf(repository.get(), actionId)) throw Refusal{"exists", "action_has_begun"};
  std::optional<IndexLock> lock;
  if (const auto use = lockOfIndex(change)) lock.emplace(place, repository.get(), actionId, *use);
  const Index index = lock ? Index() : opened.index();
  git_index* used = lock ? lock->index() : index.get();
  if (lock) unmarkWhatIsThere(opened, used);
  std::optional<ObjectsTogether> together;
  if (writesObjectsOneByOne(change)) together.emplace(repository.get());
  Plan plan = planFor({opened, used, Store::kWrite, patience}, change);
  met.mustBeAll();
  if (stateOf(opened, plan) != state) throw Refusal{"state_moved", "head_index_or_files"};
  if (!together) together.emplace(repository.get());
  RefWriter refs(repository.get(), place, actionId);
  refs.identify(plan.committer);
  refs.refuseWhatHoldWould(plan.set.refs);
  snapshot = hexOf(keepSnapshot(repository.get(), place.commonDir.handle.get(), refs, actionId, plan.set,
                                headOf(repository.get()).commit, *together));
  together.reset();
  carryOutPlanned(opened, plan, patience, lock ? &*lock : nullptr, actionId, refs);
  markDone(repository.get(), refs, actionId);
  const Head head = headOf(repository.get());
  return {head.unborn() ? std::string() : hexOf(head.commit), head.branch(), plan.files, plan.set.movedRefs(),
          plan.objects};
}

}  // namespace

std::string stateOf(const Opened& opened, const Plan& plan) {
  const Head head = headOf(opened.repository);
  std::string text = head.name + '\0' + hexOf(head.commit) + '\0';
  if (!plan.set.index.empty() || plan.commits > 0) text += fingerprintOf(opened.place.gitDir.handle.get());
  text += '\0' + plan.set.operation + '\0' + plan.basis;
  std::array<unsigned char, crypto_generichash_BYTES> digest{};
  crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  std::array<char, crypto_generichash_BYTES * 2 + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), digest.data(), digest.size());
  return hex.data();
}

Preview preview(const Opened& opened, schema::GitChange::Reader change, Patience& patience) {
  if (lockOfIndex(change)) refuseIfLocked(opened.place.gitDir.handle.get());
  const Index index = opened.index();
  Preview made{planFor({opened, index.get(), Store::kDry, patience}, change), {}};
  RefWriter(opened.repository, opened.place, {}).refuseWhatHoldWould(made.plan.set.refs);
  made.state = stateOf(opened, made.plan);
  return made;
}

Outcome carryOut(const Place& place, const std::string& actionId, schema::GitChange::Reader change,
                 const std::string& state, Patience& patience, std::string& snapshot) {
  mustBeActionId(actionId);
  const PlainFilesOnly met;
  try {
    return carryOut(met, place, actionId, change, state, patience, snapshot);
  } catch (const Refusal&) {
    met.mustBeAll();  // libgit2 tells of what it met as of something else
    throw;
  }
}

schema::GitVerdict reconcile(const Opened& opened, const std::string& actionId) {
  mustBeActionId(actionId);
  removeLockOf(opened.place.gitDir.handle.get(), actionId);
  const RefWriter refs(opened.repository, opened.place, actionId);
  refs.removeLocks({});
  const std::optional<Kept> kept = snapshotOf(opened.repository, actionId);
  if (kept) refs.removeLocks(namesOf(kept->set.refs));
  if (!kept) return schema::GitVerdict::FAILED;
  if (kept->done) return schema::GitVerdict::SUCCEEDED;
  // What is known is told, where it can't be noted as well.
  const auto succeeded = [&]() {
    try {
      markDone(opened.repository, refs, actionId);
    } catch (const Refusal&) {
    }
    return schema::GitVerdict::SUCCEEDED;
  };
  if (kept->set.push) {
    removeRemoteLock(opened, *kept->set.push, actionId);
    // What the remote received is what counts; our tracking branch only says so.
    if (!remoteHas(opened, *kept->set.push)) return schema::GitVerdict::FAILED;
    return succeeded();
  }
  const TreeWriter writer(opened.repository, opened.workTree(), actionId);
  std::set<std::string> folders;
  for (const FileEdit& file : kept->set.files)
    if (folders.insert(splitOf(file.path).above).second) writer.tidy(file.path);
  for (const FileEdit& file : kept->set.files) writer.giveBack(file);
  const auto& edit = kept->set.worktree;
  if (edit && edit->what == WorktreeEdit::What::kAdd) tidyNewWorktree(opened, *edit, actionId);
  if (edit && edit->what == WorktreeEdit::What::kRemove) finishRemoval(opened, *edit, actionId);
  const Sides sides = sidesOf(opened, kept->set);
  if (sides.after > 0 && sides.before == 0) return succeeded();
  return sides.after > 0 ? schema::GitVerdict::PARTIAL : schema::GitVerdict::FAILED;
}

}  // namespace factionos::git
