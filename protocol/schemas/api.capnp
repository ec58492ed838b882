# The REST surface. Each method of Api is one route: its annotations are the route table, its request struct is the body
# (with path and query parts), its results are the members of the reply. The front speaks it for one principal; the broker serves it.
#
# A reply whose `problem` is set is application/problem+json and nothing else; otherwise every other member that is not null is
# written, by name. A worker that is taken over can call any method that its principals' scopes allow, and none other.

@0xe9050c5207cac933;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
using Common = import "common.capnp";
using Approval = Common.Approval;
using Git = import "git.capnp";
$Cxx.namespace("factionos::schema");

struct Call {
  # What the front tells beside the request itself.
  idempotencyKey @0 :Text;
  # Null where none was sent. 1 to 255 visible ASCII characters, checked by the front and again by the broker.
  requestId @1 :Text;
}

struct ReplyMeta {
  replayed @0 :Bool;
  # The stored reply to the same key and request.
  status @1 :UInt16;
  # 0: the route's success status.
}

struct ProblemReply {
  # What the results of every method begin with: a stored problem is one of these, whoever reads it.
  problem @0 :Common.Problem;
  meta @1 :ReplyMeta;
}

# ------------------------------------------------------------------------------------------------ values

struct ChangeCount {
  # One number of a preview: "files", "insertions", "bytes".
  name @0 :Text;
  count @1 :UInt64;
}

struct ConsentCard {
  # What a human sees before an action runs. Labels and counts alone.
  family @0 :Common.Family;
  operationClass @1 :Text;
  target @2 :Text;
  risk @3 :Common.Risk;
  expectedMutation @4 :Text;
  rollback @5 :Common.Rollback;
  rollbackGuidance @6 :Text;
  idempotency @7 :Common.IdempotencyState;
  networkProfile @8 :Common.NetworkProfile;
  program @9 :Text;
  # Label of the resolved program; "sh" for a shell line, "workspace" for a program inside of the workspace.
  notes @10 :List(Text);
  # Fixed sentences of ours: what the approval does not cover.
  changes @11 :List(ChangeCount);
  # What the dry run says will change.
}

struct Action {
  id @0 :Text;
  revision @1 :UInt64;
  state @2 :Common.ActionState;
  family @3 :Common.Family;
  operation @4 :Text;
  workspace @5 :Text;
  target @6 :Text;
  requester @7 :Text;
  approver @8 :Text;
  decision @9 :Common.Decision;
  # Of policy.
  reason @10 :Text;
  card @11 :ConsentCard;
  createdAt @12 :Int64 $Http.time;
  updatedAt @13 :Int64 $Http.time;
  expiresAt @14 :Int64 $Http.time;
  nonce @15 :Text;
  # Present while the action waits, for principals with the scope approve: what a proof signs.
  failureCode @16 :Text;
  sessionId @17 :Text;
  policyRevision @18 :UInt64;
  exit @19 :Common.Exit;
}

struct Output {
  text @0 :Text;
  # From `after` on: UTF-8, secrets masked, controls but tab and newline shown as escapes.
  head @1 :Text;
  tail @2 :Text;
  # Present where no `after` was given and the output was cut in the middle.
  totalBytes @3 :UInt64;
  droppedBytes @4 :UInt64;
  lines @5 :UInt64;
  truncated @6 :Bool;
  offset @7 :UInt64;
  # Absolute offset of the first byte of `text`.
  next @8 :UInt64;
  # What to send as `after` to go on.
  gapBytes @9 :UInt64;
  # Bytes between `after` and `offset` that are gone.
  withheld @10 :Bool;
  # The masker failed and shows nothing more of this session.
}

enum SessionState { unspecified @0; starting @1; running @2; ended @3; }

struct TerminalSession {
  id @0 :Text;
  actionId @1 :Text;
  revision @2 :UInt64;
  state @3 :SessionState;
  outcome @4 :Common.ActionState;
  failureCode @5 :Text;
  workspace @6 :Text;
  program @7 :Text;
  networkProfile @8 :Common.NetworkProfile;
  owner @9 :Text;
  cols @10 :UInt16;
  rows @11 :UInt16;
  createdAt @12 :Int64 $Http.time;
  endedAt @13 :Int64 $Http.time;
  timeoutMs @14 :UInt32;
  exit @15 :Common.Exit;
  totalBytes @16 :UInt64;
  droppedBytes @17 :UInt64;
  lines @18 :UInt64;
  inputCount @19 :UInt64;
  inputBytes @20 :UInt64;
  posture @21 :List(Text);
  # Labels of what this session's sandbox could not have, such as "proc_shared".
  denials @22 :List(Common.DenialCount);
  output @23 :Output;
  # In the selected session's detail alone.
}

enum FileKind { unspecified @0; absent @1; file @2; directory @3; symlink @4; other @5; }
enum FileEncoding { text @0; base64 @1; }

struct FileFacts {
  kind @0 :FileKind;
  size @1 :UInt64;
  mode @2 :Text;
  # "0644"
  modifiedAt @3 :Int64 $Http.time;
  links @4 :UInt32 $Http.omitZero;
  # Hard links: a change replaces this name of them alone.
  attributes @5 :UInt16 $Http.omitZero;
  # Extended attributes, access lists among them.
  digest @6 :Text;
  # Names the content without telling it: for expectedDigest, at this broker.
}

struct FileEntry {
  name @0 :Text;
  # Masked, controls shown as escapes.
  nameBase64 @1 :Text;
  # Where `name` is not the name byte for byte: for pathBase64.
  kind @2 :FileKind;
  size @3 :UInt64;
  modifiedAt @4 :Int64 $Http.time;
  entry @5 :Text;
  # Of a kept copy: the id of the action that made it.
  operation @6 :Text;
  absent @7 :Bool $Http.omitZero;
  # Of a kept copy: there was no file before; to restore it is to remove the file.
}

struct FileContent {
  text @0 :Text;
  # UTF-8, secrets masked, controls but tab and newline shown as escapes; nothing with the encoding base64.
  base64 @1 :Text;
  # The bytes, secrets masked.
  offset @2 :UInt64;
  bytes @3 :UInt32;
  # Of the file that this stands for.
  exact @4 :Bool;
  # Nothing was masked or escaped: it is what the file holds.
  end @5 :Bool;
  # The file ends here.
}

struct FileChanges {
  hunks @0 :UInt32;
  insertions @1 :UInt32;
  deletions @2 :UInt32;
  # Lines.
  binary @3 :Bool;
  # Nothing was counted: one of the two is no text, or too large.
  text @4 :Text;
  # Unified, masked. In the detail alone.
  droppedBytes @5 :UInt64 $Http.omitZero;
  before @6 :FileFacts;
  after @7 :FileFacts;
  entry @8 :Text;
  # Of a restoration: whose copy it is.
}

struct Run {
  # One container, from proposal to removal. Labels and counts; its output is in the selected run's detail alone.
  id @0 :Text;
  # "run_" and what its action's id has after "act_".
  actionId @1 :Text;
  revision @2 :UInt64;
  # Of the action.
  state @3 :Common.ActionState;
  failureCode @4 :Text;
  # "exit_status", "out_of_memory", "processes_reached", "timed_out", "killed", "cancelled", "engine_lost" …
  exit @5 :Common.Exit;
  template @6 :Text;
  workspace @7 :Text;
  networkProfile @8 :Common.NetworkProfile;
  owner @9 :Text;
  runtime @10 :Text;
  cleanup @11 :Text;
  # "pending", "removed" or "left"
  createdAt @12 :Int64 $Http.time;
  startedAt @13 :Int64 $Http.time;
  endedAt @14 :Int64 $Http.time;
  totalBytes @15 :UInt64;
  droppedBytes @16 :UInt64;
  lines @17 :UInt64;
  retryable @18 :Bool;
  recovery @19 :Text;
  # A fixed sentence of ours.
  taskId @20 :Text;
  attempt @21 :UInt32 $Http.omitZero;
  output @22 :Output;
}

enum TaskState {
  unspecified @0;
  queued @1;     # may be dispatched
  blocked @2;    # waits for tasks that it needs
  waiting @3;    # dispatched; its action waits for a decision or for its caller
  running @4;
  succeeded @5;
  failed @6;     # or rejected, expired, timed out: see `reason`
  cancelled @7;
  unknown @8;    # a crash hid the outcome; reconciliation will tell
}

struct Executable {
  kind @0 :Text $Http.required $Http.text(min = 1, max = 32);
  # "container", and no other.
  template @1 :Text $Http.required $Http.text(min = 1, max = 64);
  # The id of a template of config.toml.
}

struct Task {
  id @0 :Text;
  revision @1 :UInt64;
  # Raised by every order to it. What its run does meanwhile is told by its state.
  state @2 :TaskState;
  name @3 :Text;
  campaignId @4 :Text;
  workspace @5 :Text;
  executable @6 :Executable;
  networkProfile @7 :Common.NetworkProfile;
  requester @8 :Text;
  attempt @9 :UInt32;
  actionId @10 :Text;
  runId @11 :Text;
  runtime @12 :Text;
  cleanup @13 :Text;
  reason @14 :Text;
  # Why it is not running: a code such as "needs_unmet", "needs_failed", "rejected", "exit_status".
  retryable @15 :Bool;
  recovery @16 :Text;
  after @17 :List(Text);
  # Ids of the tasks that it needs.
  createdAt @18 :Int64 $Http.time;
  updatedAt @19 :Int64 $Http.time;
}

struct Campaign {
  id @0 :Text;
  revision @1 :UInt64;
  # Raised by every order to it or to one of its tasks.
  name @2 :Text;
  requester @3 :Text;
  state @4 :TaskState;
  # Of its tasks together: failed, unknown, running, waiting, queued, blocked, cancelled, succeeded: the first of these that one of them has.
  counts @5 :List(ChangeCount);
  # Tasks by state.
  tasks @6 :List(Task);
  # In the campaign's own reply alone.
  createdAt @7 :Int64 $Http.time;
  updatedAt @8 :Int64 $Http.time;
}

struct OperationPosture { operation @0 :Text; status @1 :Common.Posture; reason @2 :Text; }

struct FamilyPosture {
  family @0 :Common.Family;
  status @1 :Common.Posture;
  reason @2 :Text;
  operations @3 :List(OperationPosture);
}

struct TerminalReadiness {
  pty @0 :Common.Posture;
  safeShell @1 :Text;
  safeCwd @2 :Text;
  activeSessions @3 :UInt32;
  maxSessions @4 :UInt32;
  timeoutMs @5 :UInt32;
  outputCapBytes @6 :UInt32;
  cleanup @7 :Text;
  fallbackReason @8 :Text;
}

struct ContainerReadiness {
  docker @0 :Common.Posture;
  podman @1 :Common.Posture;
  apple @2 :Common.Posture;
  image @3 :Common.Posture;
  browserDependencies @4 :Common.Posture;
  authMount @5 :Common.Posture;
  worktreeMount @6 :Common.Posture;
  networkProfile @7 :Common.Posture;
  providerRuntime @8 :Common.Posture;
  cleanup @9 :Text;
  docsPath @10 :Text;
  fallbackReason @11 :Text;
  # The first gate that is missing, of the engine that would be used and the shipped image; absent: none is.
  runtime @12 :Text;
  # Which engine a run would be given to: "docker" or "podman".
  rootless @13 :Bool;
  # false: whoever takes that engine over is root on this machine.
  isolation @14 :Common.Posture;
  # Whether that engine says that it enforces seccomp and limits of memory, CPU and processes.
  dockerReason @15 :Text;
  podmanReason @16 :Text;
  appleReason @17 :Text;
  leftovers @18 :UInt32;
  # Our own containers that no run of this broker holds.
  templates @19 :List(TemplateReadiness);
}

struct TemplateReadiness {
  id @0 :Text;
  provider @1 :Text;
  status @2 :Common.Posture;
  missing @3 :Text;
  # The first gate that keeps it from running: "engine", "isolation", "image", "provider", "browser", "network", "auth", "worktree".
}

struct SandboxReadiness {
  status @0 :Common.Posture;
  landlockAbi @1 :UInt32;
  seccomp @2 :Bool;
  userNamespaces @3 :Bool;
  limits @4 :Text;
  protectedPaths @5 :Text;
  proc @6 :Text;
  cleanup @7 :Text;
  reasons @8 :List(Text);
}

struct MaskingReadiness {
  # How far the secrets that the broker was given, the files in tokens/ of its home, are masked in output.
  status @0 :Common.Posture;
  # unavailable: a secret can't be masked, and no session is started until it is gone.
  known @1 :UInt32;
  weak @2 :UInt32;
  # Below 6 bytes or of fewer than 3 different ones: masking them would mask ordinary text, so they are shown.
  refused @3 :UInt32;
  # Too long, too many, or not readable.
}

struct Counts {
  actionsWaiting @0 :UInt32;
  actionsExecuting @1 :UInt32;
  sessionsActive @2 :UInt32;
  events @3 :UInt64;
  auditRecords @4 :UInt64;
  # Number of the last line of the audit whose change the state has committed.
}

struct Diagnostics {
  time @0 :Int64 $Http.time;
  startedAt @1 :Int64 $Http.time;
  version @2 :Text;
  ready @3 :Bool;
  mode @4 :Text;
  approvalSeparation @5 :Text;
  audit @6 :Common.Posture;
  families @7 :List(FamilyPosture);
  terminal @8 :TerminalReadiness;
  container @9 :ContainerReadiness;
  sandbox @10 :SandboxReadiness;
  counts @11 :Counts;
  capabilities @12 :List(Text);
  docs @13 :List(Text);
  masking @14 :MaskingReadiness;
}

struct CommandCenter {
  revision @0 :UInt64;
  sessions @1 :List(TerminalSession);
  actions @2 :List(Action);
  runs @3 :List(Run);
  tasks @4 :List(Task);
}

struct Snapshot {
  # What the broker publishes to the front when it changes. Every member is already redacted for its boundary.
  revision @0 :UInt64;
  diagnostics @1 :Diagnostics;
  commandCenter @2 :CommandCenter;
  sessions @3 :List(TerminalSession);
}

struct AuditRecord {
  sequence @0 :UInt64;
  time @1 :Int64 $Http.time;
  kind @2 :Text;
  actionId @3 :Text;
  revision @4 :UInt64;
  family @5 :Text;
  operation @6 :Text;
  requester @7 :Text;
  approver @8 :Text;
  decision @9 :Text;
  idempotency @10 :Text;
  result @11 :Text;
  target @12 :Text;
  failureCode @13 :Text;
  redactionPolicy @14 :Text;
  bytesIn @15 :UInt64;
  bytesOut @16 :UInt64;
  denials @17 :UInt64;
  hash @18 :Text;
}

struct AuditVerdict {
  intact @0 :Bool;
  records @1 :UInt64;
  brokenAt @2 :UInt64 $Http.omitZero;
  cause @3 :Text;
  firstPublicKey @4 :Text;
}

# ------------------------------------------------------------------------------------------------ requests

struct TerminalRun {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  command @1 :List(Text) $Http.items(1024) $Http.text(max = 131072);
  # argv. Exactly one of command and shell.
  shell @2 :Text $Http.text(min = 1, max = 131072);
  # One line for sh -c; counts as the program "sh".
  profile @3 :Text $Http.text(min = 1, max = 64);
  # A session profile of config.toml; absent: "default".
  network @4 :Common.NetworkProfile;
  # Absent: none.
  cols @5 :UInt16 = 80 $Http.range(min = 1, max = 1000);
  rows @6 :UInt16 = 24 $Http.range(min = 1, max = 1000);
  timeoutMs @7 :UInt32 $Http.range(min = 100, max = 86400000) $Http.omitZero;
  # Absent: what config.toml says.
  approval @8 :Approval;
  # Not part of the request's digest.
}

struct ById { id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40); }

struct ActionGet {
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  waitMs @1 :UInt32 $Http.in(query) $Http.range(min = 0, max = 60000);
  # Answers at once when the action's revision is not `seenRevision`, else when it changes or the time is over.
  seenRevision @2 :UInt64 $Http.in(query) $Http.range(min = 0, max = 9007199254740991);
  # 0: whatever the revision is when the call arrives.
}

struct ActionList {
  state @0 :Common.ActionState $Http.in(query);
  after @1 :Text $Http.in(query) $Http.text(min = 30, max = 40);
  limit @2 :UInt16 = 100 $Http.in(query) $Http.range(min = 1, max = 500);
}

struct ActionDecide {
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  expectedRevision @1 :UInt64 $Http.required $Http.range(min = 1, max = 9007199254740991);
  proof @2 :Text $Http.text(min = 1, max = 256);
  # base64url of the operator key's signature; without it 403.
  reason @3 :Text $Http.text(min = 1, max = 64);
  # A label.
}

struct SessionGet {
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  waitMs @1 :UInt32 $Http.in(query) $Http.range(min = 0, max = 60000);
  after @2 :Int64 = -1 $Http.in(query) $Http.range(min = 0, max = 9007199254740991);
  # Absolute byte offset into the shown output. Absent: head and tail.
}

struct SessionInput {
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  data @1 :Text $Http.required $Http.text(min = 1, max = 65536);
  # Typed as it is; control characters by JSON escapes. NUL is refused.
}

struct SessionResize {
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  cols @1 :UInt16 $Http.required $Http.range(min = 1, max = 1000);
  rows @2 :UInt16 $Http.required $Http.range(min = 1, max = 1000);
}

enum Signal { kill @0; term @1; int @2; hup @3; quit @4; usr1 @5; usr2 @6; cont @7; stop @8; }

struct SessionKill {
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  signal @1 :Signal;
  # kill (the default) ends the whole tree; the others go to the leader's process group.
}

struct SessionRestart {
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  approval @1 :Approval;
}

struct HookEvent $Http.tolerant {
  # A provider's own hook JSON, or {source, event, payload}. Only what is named here is read; what is stored are labels made of it.
  source @0 :Text $Http.text(max = 64);
  event @1 :Text $Http.text(max = 64);
  hookEventName @2 :Text $Http.jsonName("hook_event_name") $Http.text(max = 64);
  sessionId @3 :Text $Http.jsonName("session_id") $Http.text(max = 256);
  toolName @4 :Text $Http.jsonName("tool_name") $Http.text(max = 128);
  toolUseId @5 :Text $Http.jsonName("tool_use_id") $Http.text(max = 128);
  turnId @6 :Text $Http.jsonName("turn_id") $Http.text(max = 128);
  agentId @7 :Text $Http.jsonName("agent_id") $Http.text(max = 128);
  type @8 :Text $Http.text(max = 64);
  payload @9 :HookEvent;
  contentDigest @10 :Data $Http.bodyDigest;
}

struct AuditList {
  after @0 :UInt64 $Http.in(query) $Http.range(min = 0, max = 9007199254740991);
  limit @1 :UInt16 = 100 $Http.in(query) $Http.range(min = 1, max = 1000);
}

struct FileList {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two or, for the workspace itself or all of its kept copies, none.
  after @3 :Text $Http.text(max = 400);
  # `next` of the page before.
  limit @4 :UInt16 = 200 $Http.range(min = 1, max = 1000);
  kept @5 :Bool;
  # The copies that are kept of what was changed or deleted, newest first, in place of what is there.
}

struct FileStat {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
}

struct FileRead {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  offset @3 :UInt64 $Http.range(min = 0, max = 9007199254740991);
  length @4 :UInt32 = 65536 $Http.range(min = 1, max = 1048576);
  encoding @5 :FileEncoding;
}

struct FileWrite {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  content @3 :Text $Http.text(max = 1048576);
  contentBase64 @4 :Text $Http.text(max = 1398104);
  # Exactly one of the two.
  expectedDigest @5 :Text $Http.text(min = 1, max = 64);
  # Of what is replaced, as a reply told it. Needed where the file exists; without it the file must not exist.
  makeParents @6 :Bool;
  approval @7 :Approval;
  # Not part of the request's digest.
}

struct FileEdit {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  oldText @3 :Text $Http.required $Http.text(min = 1, max = 262144);
  newText @4 :Text $Http.text(max = 262144);
  replaceAll @5 :Bool;
  # Else oldText must be there exactly once.
  expectedDigest @6 :Text $Http.text(min = 1, max = 64);
  approval @7 :Approval;
}

struct FileDelete {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  expectedDigest @3 :Text $Http.text(min = 1, max = 64);
  approval @4 :Approval;
}

struct FileRestore {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  entry @3 :Text $Http.text(min = 30, max = 40);
  # Id of the action whose copy is brought back. Absent: the newest of this path.
  approval @4 :Approval;
}

struct FileDiff {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  content @3 :Text $Http.text(max = 1048576);
  contentBase64 @4 :Text $Http.text(max = 1398104);
  oldText @5 :Text $Http.text(min = 1, max = 262144);
  newText @6 :Text $Http.text(max = 262144);
  replaceAll @7 :Bool;
  entry @8 :Text $Http.text(min = 30, max = 40);
  # What a write of the content, an edit or, with none of these, a restoration would change.
  detail @9 :Bool;
  # The lines themselves, masked, beside the counts.
}

struct RunContainer {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  template @1 :Text $Http.required $Http.text(min = 1, max = 64);
  networkProfile @2 :Common.NetworkProfile;
  # none or egress. Absent: none.
  timeoutMs @3 :UInt32 $Http.range(min = 100, max = 86400000) $Http.omitZero;
  # Absent: what the template says.
  approval @4 :Approval;
  # Not part of the request's digest.
}

struct RunList {
  after @0 :Text $Http.in(query) $Http.text(min = 30, max = 40);
  limit @1 :UInt16 = 100 $Http.in(query) $Http.range(min = 1, max = 500);
}

struct RunGet {
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  waitMs @1 :UInt32 $Http.in(query) $Http.range(min = 0, max = 60000);
  after @2 :Int64 = -1 $Http.in(query) $Http.range(min = 0, max = 9007199254740991);
  # Absolute byte offset into the shown output. Absent: head and tail.
}

struct ContainerCleanup { approval @0 :Approval; }

struct TaskCreate {
  name @0 :Text $Http.text(min = 1, max = 64);
  # A label. Absent: the template's id.
  workspace @1 :Text $Http.required $Http.text(min = 1, max = 64);
  executable @2 :Executable $Http.required;
  networkProfile @3 :Common.NetworkProfile;
  timeoutMs @4 :UInt32 $Http.range(min = 100, max = 86400000) $Http.omitZero;
  after @5 :List(Text) $Http.items(32) $Http.text(min = 30, max = 40);
  # Ids of tasks that must have succeeded first.
}

struct TaskList {
  campaign @0 :Text $Http.in(query) $Http.text(min = 30, max = 40);
  after @1 :Text $Http.in(query) $Http.text(min = 30, max = 40);
  limit @2 :UInt16 = 100 $Http.in(query) $Http.range(min = 1, max = 500);
}

struct Order {
  # To a task or a campaign as it was seen.
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  expectedRevision @1 :UInt64 $Http.required $Http.range(min = 1, max = 9007199254740991);
}

struct Dispatch {
  id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40);
  expectedRevision @1 :UInt64 $Http.required $Http.range(min = 1, max = 9007199254740991);
  # As it was when it was dispatched first; a repeat with the approval sends the same.
  approval @2 :Approval;
}

struct CampaignTask {
  name @0 :Text $Http.required $Http.text(min = 1, max = 64);
  # A label, unique in its campaign.
  workspace @1 :Text $Http.required $Http.text(min = 1, max = 64);
  executable @2 :Executable $Http.required;
  networkProfile @3 :Common.NetworkProfile;
  timeoutMs @4 :UInt32 $Http.range(min = 100, max = 86400000) $Http.omitZero;
  after @5 :List(Text) $Http.items(32) $Http.text(min = 1, max = 64);
  # Names of tasks of this campaign.
}

struct CampaignCreate {
  name @0 :Text $Http.required $Http.text(min = 1, max = 64);
  tasks @1 :List(CampaignTask) $Http.required $Http.items(64);
}

struct Nothing {}

# ------------------------------------------------------------------------------------------------ routes

interface Api {
  eventPost @0 (call :Call, request :HookEvent) -> (problem :Common.Problem, meta :ReplyMeta, eventId :Text, accepted :Bool)
    $Http.route(method = post, path = "/event", scope = ingest, success = 202, maxBodyBytes = 8388608, maxDepth = 64,
                summary = "Take one hook event; unknown fields are dropped, repeats are recognised by content");

  diagnostics @1 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, diagnostics :Diagnostics)
    $Http.route(method = get, path = "/v1/diagnostics", scope = read, summary = "Posture of every family and operation, readiness, counts")
    $Http.snapshot("diagnostics");

  commandCenter @2 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, commandCenter :CommandCenter)
    $Http.route(method = get, path = "/v1/command-center", scope = read, summary = "Safe rows: sessions, runs, actions, tasks")
    $Http.snapshot("commandCenter");

  actionList @3 (call :Call, request :ActionList) -> (problem :Common.Problem, meta :ReplyMeta, actions :List(Action), next :Text)
    $Http.route(method = get, path = "/v1/actions", scope = read, summary = "Guarded actions, newest first");

  actionGet @4 (call :Call, request :ActionGet) -> (problem :Common.Problem, meta :ReplyMeta, action :Action)
    $Http.route(method = get, path = "/v1/actions/{id}", scope = read, summary = "One action with its consent card; waits for a change");

  actionApprove @5 (call :Call, request :ActionDecide) -> (problem :Common.Problem, meta :ReplyMeta, action :Action)
    $Http.route(method = post, path = "/v1/actions/{id}/approve", scope = approve, summary = "Approve with the operator key's proof")
    $Http.mutating;

  actionReject @6 (call :Call, request :ActionDecide) -> (problem :Common.Problem, meta :ReplyMeta, action :Action)
    $Http.route(method = post, path = "/v1/actions/{id}/reject", scope = approve, summary = "Reject with the operator key's proof")
    $Http.mutating;

  terminalPreview @7 (call :Call, request :TerminalRun) -> (problem :Common.Problem, meta :ReplyMeta, card :ConsentCard, decision :Common.Decision, reason :Text)
    $Http.route(method = post, path = "/v1/terminal/preview", scope = propose, summary = "The consent card and policy's answer; runs nothing");

  terminalRun @8 (call :Call, request :TerminalRun) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, session :TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/run", scope = propose, success = 201,
                summary = "Run a command on a PTY in its sandbox: 201 with the session, or 202 with the action that waits")
    $Http.mutating;

  sessionList @9 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, sessions :List(TerminalSession), next :Text)
    $Http.route(method = get, path = "/v1/terminal/sessions", scope = read, summary = "Summaries of sessions")
    $Http.snapshot("sessions");

  sessionGet @10 (call :Call, request :SessionGet) -> (problem :Common.Problem, meta :ReplyMeta, session :TerminalSession)
    $Http.route(method = get, path = "/v1/terminal/sessions/{id}", scope = read, summary = "The one place with output");

  sessionInput @11 (call :Call, request :SessionInput) -> (problem :Common.Problem, meta :ReplyMeta, session :TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/sessions/{id}/input", scope = propose, summary = "Type into the session, for its owner")
    $Http.mutating;

  sessionResize @12 (call :Call, request :SessionResize) -> (problem :Common.Problem, meta :ReplyMeta, session :TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/sessions/{id}/resize", scope = propose, summary = "Set the window size, for its owner")
    $Http.mutating;

  sessionKill @13 (call :Call, request :SessionKill) -> (problem :Common.Problem, meta :ReplyMeta, session :TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/sessions/{id}/kill", scope = propose, summary = "End the whole tree, or signal the leader's group")
    $Http.mutating;

  sessionRestart @14 (call :Call, request :SessionRestart) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, session :TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/sessions/{id}/restart", scope = propose, success = 201,
                summary = "A new action with its own decision that runs the same command again")
    $Http.mutating;

  auditList @15 (call :Call, request :AuditList) -> (problem :Common.Problem, meta :ReplyMeta, records :List(AuditRecord), next :UInt64)
    $Http.route(method = get, path = "/v1/audit", scope = read, summary = "Audit records in order");

  auditVerify @16 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, verdict :AuditVerdict)
    $Http.route(method = get, path = "/v1/audit/verify", scope = read, summary = "Verify the chain, its signatures and its head");

  fileList @17 (call :Call, request :FileList) -> (problem :Common.Problem, meta :ReplyMeta, entries :List(FileEntry), next :Text, totalBytes :UInt64)
    $Http.route(method = post, path = "/v1/file/list", scope = propose,
                summary = "Entries of a directory, or the copies that are kept");

  fileStat @18 (call :Call, request :FileStat) -> (problem :Common.Problem, meta :ReplyMeta, file :FileFacts)
    $Http.route(method = post, path = "/v1/file/stat", scope = propose,
                summary = "What is at a path");

  fileRead @19 (call :Call, request :FileRead) -> (problem :Common.Problem, meta :ReplyMeta, file :FileFacts, content :FileContent)
    $Http.route(method = post, path = "/v1/file/read", scope = propose,
                summary = "A bounded piece of a file, masked");

  fileWrite @20 (call :Call, request :FileWrite) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, file :FileFacts)
    $Http.route(method = post, path = "/v1/file/write", scope = propose, maxBodyBytes = 8388608,
                summary = "Make or replace a file as a whole: 200, or 202 with the action that waits")
    $Http.mutating;

  fileEdit @21 (call :Call, request :FileEdit) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, file :FileFacts)
    $Http.route(method = post, path = "/v1/file/edit", scope = propose, maxBodyBytes = 8388608,
                summary = "Replace a text that is there exactly once")
    $Http.mutating;

  fileDiff @22 (call :Call, request :FileDiff) -> (problem :Common.Problem, meta :ReplyMeta, changes :FileChanges)
    $Http.route(method = post, path = "/v1/file/diff", scope = propose, maxBodyBytes = 8388608,
                summary = "What a write, an edit or a restoration would change");

  fileDelete @23 (call :Call, request :FileDelete) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, file :FileFacts)
    $Http.route(method = post, path = "/v1/file/delete", scope = propose,
                summary = "Remove a file; a copy is kept")
    $Http.mutating;

  fileRestore @24 (call :Call, request :FileRestore) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, file :FileFacts)
    $Http.route(method = post, path = "/v1/file/restore", scope = propose,
                summary = "Bring a kept copy back")
    $Http.mutating;

  containerReadiness @25 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, readiness :ContainerReadiness)
    $Http.route(method = get, path = "/v1/container/readiness", scope = read,
                summary = "What a run needs and has: engines, image, mounts, network; labels alone");

  containerPreview @26 (call :Call, request :RunContainer) -> (problem :Common.Problem, meta :ReplyMeta, card :ConsentCard, decision :Common.Decision, reason :Text, status :Common.Posture, missing :Text)
    $Http.route(method = post, path = "/v1/container/preview", scope = propose,
                summary = "The consent card, policy's answer and the gate that is missing; starts nothing");

  containerRun @27 (call :Call, request :RunContainer) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, run :Run)
    $Http.route(method = post, path = "/v1/container/run", scope = propose, success = 201,
                summary = "Run a template in a container of its own: 201 with the run, or 202 with the action that waits")
    $Http.mutating;

  runList @28 (call :Call, request :RunList) -> (problem :Common.Problem, meta :ReplyMeta, runs :List(Run), next :Text)
    $Http.route(method = get, path = "/v1/container/runs", scope = read,
                summary = "Runs, newest first");

  runGet @29 (call :Call, request :RunGet) -> (problem :Common.Problem, meta :ReplyMeta, run :Run)
    $Http.route(method = get, path = "/v1/container/runs/{id}", scope = read,
                summary = "One run; the one place with its output");

  runKill @30 (call :Call, request :ById) -> (problem :Common.Problem, meta :ReplyMeta, run :Run)
    $Http.route(method = post, path = "/v1/container/runs/{id}/kill", scope = propose,
                summary = "End a run, for its owner: stop, grace, kill, removal")
    $Http.mutating;

  containerCleanup @31 (call :Call, request :ContainerCleanup) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, removed :UInt32, left :UInt32)
    $Http.route(method = post, path = "/v1/container/cleanup", scope = propose,
                summary = "Remove our own containers that no run holds")
    $Http.mutating;

  taskCreate @32 (call :Call, request :TaskCreate) -> (problem :Common.Problem, meta :ReplyMeta, task :Task)
    $Http.route(method = post, path = "/v1/queue/tasks", scope = propose, success = 201,
                summary = "Queue a template on a workspace; runs nothing")
    $Http.mutating;

  taskList @33 (call :Call, request :TaskList) -> (problem :Common.Problem, meta :ReplyMeta, tasks :List(Task), next :Text)
    $Http.route(method = get, path = "/v1/queue/tasks", scope = read,
                summary = "Tasks, newest first");

  taskGet @34 (call :Call, request :ById) -> (problem :Common.Problem, meta :ReplyMeta, task :Task)
    $Http.route(method = get, path = "/v1/queue/tasks/{id}", scope = read,
                summary = "One task");

  taskDispatch @35 (call :Call, request :Dispatch) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, run :Run)
    $Http.route(method = post, path = "/v1/queue/tasks/{id}/dispatch", scope = propose, success = 201,
                summary = "Run it, as container run would: 201 with the run, or 202 with the action that waits")
    $Http.mutating;

  taskCancel @36 (call :Call, request :Order) -> (problem :Common.Problem, meta :ReplyMeta, task :Task)
    $Http.route(method = post, path = "/v1/queue/tasks/{id}/cancel", scope = propose,
                summary = "Take it out of the queue, or end its run")
    $Http.mutating;

  taskRetry @37 (call :Call, request :Order) -> (problem :Common.Problem, meta :ReplyMeta, task :Task)
    $Http.route(method = post, path = "/v1/queue/tasks/{id}/retry", scope = propose,
                summary = "Queue it again with the next attempt number; runs nothing")
    $Http.mutating;

  campaignCreate @38 (call :Call, request :CampaignCreate) -> (problem :Common.Problem, meta :ReplyMeta, campaign :Campaign)
    $Http.route(method = post, path = "/v1/campaigns", scope = propose, success = 201,
                summary = "Queue tasks that depend on each other; runs nothing")
    $Http.mutating;

  campaignList @39 (call :Call, request :RunList) -> (problem :Common.Problem, meta :ReplyMeta, campaigns :List(Campaign), next :Text)
    $Http.route(method = get, path = "/v1/campaigns", scope = read,
                summary = "Campaigns, newest first");

  campaignGet @40 (call :Call, request :ById) -> (problem :Common.Problem, meta :ReplyMeta, campaign :Campaign)
    $Http.route(method = get, path = "/v1/campaigns/{id}", scope = read,
                summary = "One campaign with its tasks");

  campaignDispatch @41 (call :Call, request :Dispatch) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, run :Run)
    $Http.route(method = post, path = "/v1/campaigns/{id}/dispatch", scope = propose, success = 201,
                summary = "Run the first of its tasks that may be dispatched")
    $Http.mutating;

  campaignCancel @42 (call :Call, request :Order) -> (problem :Common.Problem, meta :ReplyMeta, campaign :Campaign)
    $Http.route(method = post, path = "/v1/campaigns/{id}/cancel", scope = propose,
                summary = "Cancel every task of it that has not ended")
    $Http.mutating;

  gitStatus @43 (call :Call, request :Git.GitStatusRequest) -> (problem :Common.Problem, meta :ReplyMeta, status :Git.GitStatus)
    $Http.route(method = post, path = "/v1/git/status", scope = read, summary = "Entries as git status tells them, counts, HEAD and its upstream");

  gitDiff @44 (call :Call, request :Git.GitDiffRequest) -> (problem :Common.Problem, meta :ReplyMeta, diff :Git.GitDiff)
    $Http.route(method = post, path = "/v1/git/diff", scope = read, summary = "Files and counts of a difference; the content of the one file that is selected, masked");

  gitLog @45 (call :Call, request :Git.GitLogRequest) -> (problem :Common.Problem, meta :ReplyMeta, log :Git.GitLog)
    $Http.route(method = post, path = "/v1/git/log", scope = read, summary = "Commits, newest first, by pages");

  gitShow @46 (call :Call, request :Git.GitShowRequest) -> (problem :Common.Problem, meta :ReplyMeta, show :Git.GitShow)
    $Http.route(method = post, path = "/v1/git/show", scope = read, summary = "One commit and what it changed");

  gitBranches @47 (call :Call, request :Git.GitBranchesRequest) -> (problem :Common.Problem, meta :ReplyMeta, branches :Git.GitBranches)
    $Http.route(method = post, path = "/v1/git/branches", scope = read, summary = "Branches and where they are");

  gitWorktreeList @48 (call :Call, request :Git.GitWorktreesRequest) -> (problem :Common.Problem, meta :ReplyMeta, worktrees :List(Git.GitWorktree))
    $Http.route(method = post, path = "/v1/git/worktree-list", scope = read, summary = "The linked working trees");

  gitStage @49 (call :Call, request :Git.GitStage) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/stage", scope = propose, summary = "Put files into the index")
    $Http.mutating;

  gitUnstage @50 (call :Call, request :Git.GitStage) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/unstage", scope = propose, summary = "Take files out of the index again")
    $Http.mutating;

  gitCommit @51 (call :Call, request :Git.GitCommit) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/commit", scope = propose, summary = "Commit the index; no hook runs")
    $Http.mutating;

  gitBranchCreate @52 (call :Call, request :Git.GitBranchCreate) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/branch-create", scope = propose, summary = "Make a branch")
    $Http.mutating;

  gitCheckout @53 (call :Call, request :Git.GitCheckout) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/checkout", scope = propose, summary = "Check out a branch in a clean working tree")
    $Http.mutating;

  gitWorktreeAdd @54 (call :Call, request :Git.GitWorktreeAdd) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/worktree-add", scope = propose, summary = "Add a linked working tree inside of the workspace")
    $Http.mutating;

  gitWorktreeRemove @55 (call :Call, request :Git.GitWorktreeRemove) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/worktree-remove", scope = propose, summary = "Remove one that holds nothing new")
    $Http.mutating;

  gitFetch @56 (call :Call, request :Git.GitFetch) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/fetch", scope = propose, summary = "Fetch from a remote that is a path within the workspaces")
    $Http.mutating;

  gitPush @57 (call :Call, request :Git.GitPush) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/push", scope = propose, summary = "Push to such a remote; blocked by policy as shipped")
    $Http.mutating;

  gitRollback @58 (call :Call, request :Git.GitRollback) -> (problem :Common.Problem, meta :ReplyMeta, action :Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/rollback", scope = propose, summary = "Undo what one of these actions did")
    $Http.mutating;
}

struct UnavailableRoute {
  method @0 :Http.Method;
  path @1 :Text;
  # A last segment "*" stands for the path itself and everything below it.
  family @2 :Common.Family;
  operation @3 :Text;
}

const unavailableRoutes :List(UnavailableRoute) = [
  # Declared, and answered 501 with the same bytes every time: what is not built yet, and what never will be.
  (method = post, path = "/v1/git/rebase", family = git, operation = "rebase"),
  (method = post, path = "/v1/git/merge", family = git, operation = "merge"),
  (method = post, path = "/v1/git/remote", family = git, operation = "remote"),
  (method = post, path = "/v1/git/config", family = git, operation = "config"),
  (method = post, path = "/v1/file/open", family = file, operation = "open"),
  (method = post, path = "/v1/file/move", family = file, operation = "move"),
  (method = post, path = "/v1/container/build", family = container, operation = "build"),
  (method = post, path = "/v1/container/pull", family = container, operation = "pull"),
  (method = post, path = "/v1/container/exec", family = container, operation = "exec"),
  (method = post, path = "/v1/terminal/sessions/{id}/attach", family = terminal, operation = "attach"),
  (method = post, path = "/v1/hook/decision", operation = "hook.decision"),
  (method = get, path = "/v1/heroes", operation = "heroes"),
  (method = get, path = "/v1/missions", operation = "missions"),
  (method = get, path = "/v1/missions/graph", operation = "missions.graph"),
  (method = get, path = "/v1/notices", operation = "notices"),
  (method = get, path = "/v1/achievements", operation = "achievements"),
  (method = get, path = "/v1/templates", operation = "templates"),
  (method = get, path = "/v1/export", operation = "export"),
  (method = any, path = "/v1/remote/*", family = remote, operation = "any"),
  (method = any, path = "/v1/hosted/*", family = hosted, operation = "any")
];

const blockedFields :List(Text) = [
  # Raw names that no route takes unless its request struct declares them; answered with blocked_field and the name.
  "cwd", "env", "environment", "path", "paths", "token", "authorization", "password", "secret", "prompt", "stdin", "stdout",
  "stderr", "output", "diff", "patch", "content", "image", "args", "argv", "cmd", "command", "entrypoint", "mounts", "mount", "volumes", "volume", "binds", "privileged",
  "hostConfig", "networkMode", "network", "pidMode", "ipcMode", "usernsMode", "devices", "capAdd", "capDrop", "securityOpt", "labels", "runtime", "engine",
  "user", "uid", "capabilities", "sandbox", "disable", "dangerouslyDisableSandbox", "principal", "role", "scope", "scopes", "transcript_path"
];
