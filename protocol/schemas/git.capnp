# The git family: what its REST routes take and give, and what the broker and one git worker say to each other. The worker has one
# repository, under a Landlock domain of that repository, and starts no program. What it says is hostile input to the broker: labels are
# checked, names and contents pass the masker before anybody sees them.

@0xd1d2b7a4c06f3e55;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
using Common = import "common.capnp";
$Cxx.namespace("factionos::schema");

# ------------------------------------------------------------------------------------------------ requests

enum Untracked { unspecified @0; no @1; normal @2; all @3; }
# unspecified is normal: a directory that holds nothing tracked is one entry.

struct GitStatusRequest {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  untracked @1 :Untracked;
  limit @2 :UInt32 = 1000 $Http.range(min = 1, max = 10000);
  # Entries of the reply; the counts are whole in any case.
}

struct GitDiffRequest {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  staged @1 :Bool;
  # HEAD to index; else index to working tree.
  from @2 :Text $Http.text(min = 1, max = 255);
  to @3 :Text $Http.text(min = 1, max = 255);
  # Two commits instead.
  file @4 :Text $Http.text(min = 1, max = 4096);
  # The one file whose content is wanted; without it a summary.
  limit @5 :UInt32 = 1000 $Http.range(min = 1, max = 10000);
}

struct GitLogRequest {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  from @1 :Text $Http.text(min = 1, max = 255);
  # A branch, a tag or a commit. Absent: HEAD.
  limit @2 :UInt32 = 50 $Http.range(min = 1, max = 500);
  skip @3 :UInt32 $Http.range(min = 0, max = 10000000);
}

struct GitShowRequest {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  commit @1 :Text $Http.required $Http.text(min = 1, max = 255);
  file @2 :Text $Http.text(min = 1, max = 4096);
  # The one file whose content is wanted; without it a summary.
  limit @3 :UInt32 = 1000 $Http.range(min = 1, max = 10000);
}

struct GitBranchesRequest {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  remotes @1 :Bool;
  # Remote-tracking branches too.
  limit @2 :UInt32 = 1000 $Http.range(min = 1, max = 10000);
}

struct GitWorktreesRequest {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
}

struct GitStage {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  files @1 :List(Text) $Http.items(1000) $Http.text(min = 1, max = 4096);
  # Paths of files or directories, relative to the working tree; none with `all`.
  filesBase64 @2 :List(Text) $Http.items(1000) $Http.text(min = 1, max = 5464);
  # The same where a name is not UTF-8.
  all @3 :Bool;
  fileBytes @4 :List(Data) $Http.internal;
  # filesBase64 as the worker takes them.
  approval @5 :Common.Approval;
  # Not part of the request's digest; here and below.
}

struct GitCommit {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  message @1 :Text $Http.required $Http.text(min = 1, max = 65536);
  # Stored exactly, with a newline at its end if it has none; NUL is refused.
  authorName @2 :Text $Http.text(min = 1, max = 128);
  authorEmail @3 :Text $Http.text(min = 1, max = 128);
  # Absent: user.name and user.email of the repository.
  allowEmpty @4 :Bool;
  sign @5 :Bool;
  # Answered with unavailable: nothing here can start gpg or ssh-keygen.
  approval @6 :Common.Approval;
}

struct GitBranchCreate {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  branch @1 :Text $Http.required $Http.text(min = 1, max = 200);
  from @2 :Text $Http.text(min = 1, max = 255);
  # Absent: HEAD.
  approval @3 :Common.Approval;
}

struct GitCheckout {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  branch @1 :Text $Http.required $Http.text(min = 1, max = 200);
  approval @2 :Common.Approval;
}

struct GitWorktreeAdd {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  name @1 :Text $Http.required $Http.text(min = 1, max = 64);
  # Of the worktree, and of its branch where `branch` is absent.
  directory @2 :Text $Http.required $Http.text(min = 1, max = 1024);
  # Relative to the workspace; must not exist.
  branch @3 :Text $Http.text(min = 1, max = 200);
  # Made at HEAD if it does not exist; must not be checked out elsewhere.
  approval @4 :Common.Approval;
}

struct GitWorktreeRemove {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  name @1 :Text $Http.required $Http.text(min = 1, max = 64);
  approval @2 :Common.Approval;
}

struct GitFetch {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  remote @1 :Text $Http.text(min = 1, max = 200);
  # A configured remote whose URL is a path inside of the workspaces. Absent: origin.
  approval @2 :Common.Approval;
}

struct GitPush {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  remote @1 :Text $Http.text(min = 1, max = 200);
  branch @2 :Text $Http.text(min = 1, max = 200);
  # Absent: the current one. Forward only.
  approval @3 :Common.Approval;
}

struct GitRollback {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  actionId @1 :Text $Http.required $Http.text(min = 30, max = 40);
  # Of the action that is undone.
  approval @2 :Common.Approval;
  snapshot @3 :Text $Http.internal;
  # The object that the broker remembers of that action: what is undone is read by it, and by no name that somebody else could move.
}

struct GitChange {
  # What mutates, one of them.
  union {
    unspecified @0 :Void;
    stage @1 :GitStage;
    unstage @2 :GitStage;
    commit @3 :GitCommit;
    branchCreate @4 :GitBranchCreate;
    checkout @5 :GitCheckout;
    worktreeAdd @6 :GitWorktreeAdd;
    worktreeRemove @7 :GitWorktreeRemove;
    fetch @8 :GitFetch;
    push @9 :GitPush;
    rollback @10 :GitRollback;
  }
}

# ------------------------------------------------------------------------------------------------ replies

struct GitPath {
  text @0 :Text;
  # UTF-8, invalid bytes as U+FFFD; in a reply masked, controls shown as escapes.
  base64 @1 :Text;
  # In a reply, where `text` is not the name byte for byte: for filesBase64.
  bytes @2 :Data $Http.internal;
  # From the worker, where the name is not UTF-8.
}

enum GitEdit { none @0; added @1; modified @2; deleted @3; renamed @4; typeChanged @5; }

enum GitConflict {
  none @0;
  bothModified @1;    # UU
  bothAdded @2;       # AA
  bothDeleted @3;     # DD
  addedByUs @4;       # AU
  addedByThem @5;     # UA
  deletedByUs @6;     # DU
  deletedByThem @7;   # UD
}

struct GitStatusEntry {
  path @0 :GitPath;
  oldPath @1 :GitPath;
  # Of what was renamed.
  index @2 :GitEdit;
  # HEAD to index.
  worktree @3 :GitEdit;
  # Index to working tree.
  conflict @4 :GitConflict;
  untracked @5 :Bool $Http.omitZero;
  submodule @6 :Bool $Http.omitZero;
  # Seen, never entered.
  unjudged @7 :Bool $Http.omitZero;
  # A filter program would have to tell whether this file changed; none is run.
}

struct GitHead {
  branch @0 :Text;
  # Absent where HEAD is detached.
  commit @1 :Text;
  # Absent where the branch has no commit yet.
  upstream @2 :Text;
  ahead @3 :UInt32;
  behind @4 :UInt32;
  underway @5 :Text;
  # "merge", "rebase", "cherry-pick", "revert", "bisect", "apply-mailbox"; absent: nothing.
}

struct GitStatus {
  head @0 :GitHead;
  entries @1 :List(GitStatusEntry);
  staged @2 :UInt32;
  unstaged @3 :UInt32;
  conflicts @4 :UInt32;
  untracked @5 :UInt32;
  unjudged @6 :UInt32;
  truncated @7 :Bool;
  # More entries than `limit`; the counts are whole unless `countsTruncated`.
  countsTruncated @8 :Bool;
  # The time for one answer was over while files were still being looked at.
}

struct GitFileDiff {
  path @0 :GitPath;
  oldPath @1 :GitPath;
  edit @2 :GitEdit;
  binary @3 :Bool $Http.omitZero;
  hunks @4 :UInt32;
  insertions @5 :UInt32;
  deletions @6 :UInt32;
  unjudged @7 :Bool $Http.omitZero;
}

struct GitDiff {
  files @0 :List(GitFileDiff);
  total @1 :UInt32;
  insertions @2 :UInt64;
  deletions @3 :UInt64;
  truncated @4 :Bool;
  text @5 :Text;
  # Of the one file that was asked for: unified, masked.
  patchTotalBytes @6 :UInt64 $Http.omitZero;
  # Of it, before it was cut.
  patch @7 :Data $Http.internal;
  # From the worker, raw: the broker masks it.
}

struct GitPerson {
  name @0 :Text;
  email @1 :Text;
  time @2 :Int64 $Http.time;
  offsetMinutes @3 :Int32;
}

struct GitLogEntry {
  commit @0 :Text;
  parents @1 :List(Text);
  author @2 :GitPerson;
  committer @3 :GitPerson;
  subject @4 :Text;
  # The message's first line, at most 256 bytes.
}

struct GitLog {
  commits @0 :List(GitLogEntry);
  more @1 :Bool;
  # There are further ones: ask with `skip`.
}

struct GitShow {
  commit @0 :GitLogEntry;
  message @1 :Text;
  diff @2 :GitDiff;
  # Against the first parent.
}

struct GitBranch {
  name @0 :Text;
  commit @1 :Text;
  current @2 :Bool $Http.omitZero;
  remote @3 :Bool $Http.omitZero;
  upstream @4 :Text;
  worktree @5 :Text;
  # Name of the linked worktree that has it checked out.
}

struct GitBranches {
  branches @0 :List(GitBranch);
  total @1 :UInt32;
  truncated @2 :Bool;
}

struct GitWorktree {
  name @0 :Text;
  directory @1 :GitPath;
  # Relative to the workspace; absent where it lies elsewhere.
  branch @2 :Text;
  commit @3 :Text;
  locked @4 :Bool $Http.omitZero;
  missing @5 :Bool $Http.omitZero;
  main @6 :Bool $Http.omitZero;
}

struct GitPreview {
  # What a change would do, in counts and labels alone.
  target @0 :Text;
  # "branch main"
  state @1 :Text;
  # The state that it was taken on: HEAD, its commit and the index as one digest in hex. run() refuses another.
  files @2 :UInt32;
  insertions @3 :UInt64;
  deletions @4 :UInt64;
  commits @5 :UInt32;
  refs @6 :UInt32;
  rollback @7 :Common.Rollback;
  notes @8 :List(Text);
  # Labels of what the operator should know: "detached_head", "files_are_not_restored" …
}

struct GitOutcome {
  commit @0 :Text;
  # The one that was made, or that HEAD is on now.
  branch @1 :Text;
  files @2 :UInt32;
  refs @3 :UInt32;
  objects @4 :UInt32 $Http.omitZero;
  snapshot @5 :Text;
  # Name under refs/factionos/ that rollback goes back by.
}

enum GitVerdict { unspecified @0; succeeded @1; failed @2; partial @3; }
# partial: some of it happened; rollback brings the rest back.

# ------------------------------------------------------------------------------------------------ the worker

interface Repository {
  # Denials: code, rule, and a label or a number as the target; never a path or text of the repository.

  status @0 (request :GitStatusRequest) -> (status :GitStatus, denial :Common.Denial);
  diff @1 (request :GitDiffRequest) -> (diff :GitDiff, denial :Common.Denial);
  log @2 (request :GitLogRequest) -> (log :GitLog, denial :Common.Denial);
  show @3 (request :GitShowRequest) -> (show :GitShow, denial :Common.Denial);
  branches @4 (request :GitBranchesRequest) -> (branches :GitBranches, denial :Common.Denial);
  worktrees @5 (request :GitWorktreesRequest) -> (worktrees :List(GitWorktree), denial :Common.Denial);

  prepare @6 (change :GitChange) -> (preview :GitPreview, denial :Common.Denial);
  # Says what it would do; writes nothing.

  run @7 (actionId :Text, change :GitChange, state :Text) -> (outcome :GitOutcome, denial :Common.Denial, snapshot :Text);
  # Once for an action. A state that has moved since prepare() is denied "state_moved", and nothing is written.
  # snapshot: the object that rollback of this action is asked by; beside a denial where it had begun.

  reconcile @8 (actionId :Text) -> (verdict :GitVerdict, denial :Common.Denial);
  # After a crash: what refs, index and tree say of that action.
}

interface Git {
  # What a git worker offers on its line. Reads are served beside each other in turn; dropping a call of status, diff, log or show stops its work.

  open @0 () -> (repository :Repository, denial :Common.Denial);
  # The repository whose working tree is the worker's workspace, or why it is refused.
}
