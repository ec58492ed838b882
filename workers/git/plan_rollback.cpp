#include <algorithm>
#include <map>

#include "protocol/text.h"
#include "workers/git/deltas.h"
#include "workers/git/plan.h"
#include "workers/git/snapshot.h"

namespace factionos::git {
namespace {

// What HEAD, a branch or an entry is now must be what the action left or, where it came no further, what was
// there before it: what somebody has changed since is never overwritten.
struct Moved {
  std::size_t refs = 0;
  std::size_t files = 0;
};

template <typename Edit, typename Now>
void keepWhatIsLeftToDo(std::vector<Edit>& edits, std::size_t& moved, Now now) {
  std::erase_if(edits, [&](const Edit& edit) {
    const auto present = now(edit);
    if (present == edit.after) return true;  // never happened, or is undone already
    if (present == edit.before) return false;
    ++moved;
    return true;
  });
}

bool isSubmodule(const FileState& state) {
  return state.mode == GIT_FILEMODE_COMMIT;
}

// Of a submodule its folder counts, whatever is in it: that is judged by what is in the way. One that comes
// or goes alone can't be told from a folder of something else, and neither does harm twice.
FileState foundOf(const TreeWriter& writer, const FileEdit& file) {
  const FileState now = writer.now(file.path);
  if (now.there() || (!isSubmodule(file.before) && !isSubmodule(file.after))) return now;
  const bool folder = writer.at(file.path) == TreeWriter::There::kDirectory;
  const bool exchanged = file.before.there() && file.after.there();
  return folder && exchanged && isSubmodule(file.after) ? file.after : file.before;
}

void judgeFiles(const Planning& planning, ChangeSet& set, Moved& moved) {
  const TreeWriter writer = planning.writer();
  std::erase_if(set.files, [](const FileEdit& file) {
    return isSubmodule(file.before) && isSubmodule(file.after);  // it is not entered
  });
  keepWhatIsLeftToDo(set.files, moved.files, [&](const FileEdit& file) { return foundOf(writer, file); });
  const auto isFolder = [](const FileEdit& file) {
    return (isSubmodule(file.before) || isSubmodule(file.after)) && file.before.there() != file.after.there();
  };
  if (set.refs.empty() && set.index.empty() && std::ranges::all_of(set.files, isFolder)) set.files.clear();
}

// Back to where HEAD was: the difference is to be what the action made, or HEAD's branch or the other one has
// moved on since, and what is written would be a change that undoes that. `whole`: with what is undone
// already.
void judgeHead(const Planning& planning, const ChangeSet& whole, Plan& plan) {
  const auto head = std::ranges::find(plan.set.refs, "HEAD", &RefEdit::name);
  if (head == plan.set.refs.end()) return;
  const bool isBranch = head->after.starts_with(kSymbolic);
  if (!isBranch && !head->before.starts_with(kSymbolic)) return;  // a commit on none
  const std::string branch =
      isBranch ? endOf(planning.opened.repository, head->after.substr(kSymbolic.size())) : std::string();
  const std::string commit = isBranch ? refStateOf(planning.opened.repository, branch) : head->after;
  if (isBranch) mustBeNowhereElse(planning, branch);
  if (commit.empty()) return;  // no commit yet
  std::map<std::string_view, const IndexEdit*> made;
  for (const IndexEdit& edit : whole.index) made.emplace(edit.path, &edit);
  const auto files = differenceOf(planning, headOf(planning.opened.repository).commit, oidOf(commit));
  const bool isWhatWasMade =
      files.size() == made.size() && std::ranges::all_of(files, [&](const FileEdit& file) {
        const auto edit = made.find(file.path);
        return edit != made.end() && edit->second->before.stages[0] == file.before &&
               edit->second->after.stages[0] == file.after;
      });
  if (!isWhatWasMade) throw Refusal{"state_moved", "refs_have_moved_on", "1"};
  if (isBranch) plan.goal = {branch, commit};
}

bool isOf(const std::optional<WorktreeEdit>& edit, const WorktreeRow& row) {
  return edit && !row.main && row.name == edit->name && row.directory == edit->directory;
}

// A branch that moves or goes is to be nobody's, but of the worktree that comes or goes with it. One that
// moves may be this tree's, as it was when a commit moved it, and the first commit's goes with that.
void judgeBranches(const Planning& planning, const Plan& plan, std::string_view undone) {
  const std::string head = headStateOf(planning.opened.repository);
  for (const RefEdit& ref : plan.set.refs) {
    if (!ref.name.starts_with(kHeads)) continue;
    const bool goes = ref.after.empty() && undone != "commit";
    if (goes && head == std::string(kSymbolic) + ref.name) throw Refusal{"exists", "checked_out_here"};
    mustBeNowhereElse(planning, ref.name, [&](const WorktreeRow& row) {
      return (row.here && !goes) || isOf(plan.set.worktree, row);
    });
  }
}

// As judged as one that is asked for: since it was removed its branch may have gone, gone on or come to be
// checked out.
void judgeNewWorktree(const Planning& planning, Plan& plan) {
  const WorktreeEdit& edit = *plan.set.worktree;
  std::string commit = edit.head;
  if (commit.starts_with(kSymbolic)) {
    const std::string branch = commit.substr(kSymbolic.size());
    mustBeNowhereElse(planning, branch, [&](const WorktreeRow& row) { return isOf(edit, row); });
    const auto made = std::ranges::find(plan.set.refs, branch, &RefEdit::name);  // comes back with it
    commit = made != plan.set.refs.end() ? made->after : refStateOf(planning.opened.repository, branch);
  }
  if (commit.empty()) throw Refusal{"state_moved", "refs_have_moved_on", "1"};
  plan.files += judgedNewWorktree(planning, oidOf(commit));
  plan.basis += commit + '\n';
}

void judgeWorktree(const Planning& planning, Plan& plan) {
  auto& edit = plan.set.worktree;
  if (isProtected(planning, edit->directory)) throw Refusal{"path_protected", "directory"};
  const auto rows = worktrees(planning.opened);
  const auto row = std::ranges::find_if(rows, [&](const WorktreeRow& each) { return isOf(edit, each); });
  const bool there = row != rows.end() && !row->missing;
  if (there == (edit->what == WorktreeEdit::What::kAdd)) {
    edit.reset();
  } else if (there) {
    const std::string made = edit->head;
    addRemoval(planning, *row, plan);
    // Somebody has gone on in it, or made another one of that name.
    if (edit->head != made) throw Refusal{"state_moved", "refs_have_moved_on", "1"};
  } else {
    mustBeNoWorktree(planning, edit->name, edit->directory);
    judgeNewWorktree(planning, plan);
  }
}

}  // namespace

// `set` is the inverse: its `before` is what the action left.
Plan planRollback(const Planning& planning, schema::GitRollback::Reader request) {
  const std::string actionId(view(request.getActionId()));
  mustBeActionId(actionId);
  const std::string name(view(request.getSnapshot()));
  if (name.empty()) throw Refusal{"not_found", "snapshot"};
  const std::optional<ChangeSet> kept = snapshotAt(planning.opened.repository, oidOf(name));
  if (!kept) throw Refusal{"not_found", "snapshot"};
  if (kept->operation == "push") throw Refusal{"unavailable", "a_push_cannot_be_called_back"};
  mustBeIdle(planning.opened);
  Plan plan;
  plan.target = labelOf("action", actionId);
  plan.basis = actionId + '\n' + name + '\n';
  plan.set = inverse(*kept, "rollback");
  Moved moved;
  std::size_t refs = 0;
  keepWhatIsLeftToDo(plan.set.refs, refs,
                     [&](const RefEdit& ref) { return refStateOf(planning.opened.repository, ref.name); });
  keepWhatIsLeftToDo(plan.set.index, moved.files,
                     [&](const IndexEdit& edit) { return indexStateOf(planning.index, edit.path); });
  moved.files += inTheWayOf(planning.index, plan.set.index).size();  // staged since
  addStamps(planning, plan);
  judgeFiles(planning, plan.set, moved);
  if (refs > 0) throw Refusal{"state_moved", "refs_have_moved_on", std::to_string(refs)};
  if (moved.files > 0) throw Refusal{"state_moved", "files_have_changed_since", std::to_string(moved.files)};
  judgeHead(planning, inverse(*kept, "rollback"), plan);
  judgeBranches(planning, plan, kept->operation);
  mustBeFree(planning, plan.set.files);
  mustNotOverwrite(planning, plan.set.files);
  plan.files = static_cast<std::uint32_t>(std::max(plan.set.index.size(), plan.set.files.size()));
  if (plan.set.worktree) judgeWorktree(planning, plan);
  if (plan.set.empty()) throw Refusal{"nothing_to_do", "rollback"};
  if (plan.removed) plan.files += plan.removed->files;
  for (const FileEdit& file : plan.set.files) plan.basis += file.path + '\n';
  return plan;
}

}  // namespace factionos::git
