# The REST surface. Each method of Api is one route: its annotations are the route table, its request struct is the body
# (with path and query parts), its results are the members of the reply. The front speaks it for one principal; the broker serves it.
#
# A reply whose `problem` is set is application/problem+json and nothing else; otherwise every other member that is not null is
# written, by name. A worker that is taken over can call any method that its principals' scopes allow, and none other.

@0xe9050c5207cac933;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
using Common = import "common.capnp";
using Git = import "git.capnp";
using Actions = import "actions.capnp";
using Terminal = import "terminal.capnp";
using File = import "file.capnp";
using Container = import "container.capnp";
using Tasks = import "tasks.capnp";
using Status = import "status.capnp";
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

struct ById { id @0 :Text $Http.in(path) $Http.required $Http.text(min = 30, max = 40); }

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

struct Nothing {}

# ------------------------------------------------------------------------------------------------ routes

interface Api {
  eventPost @0 (call :Call, request :HookEvent) -> (problem :Common.Problem, meta :ReplyMeta, eventId :Text, accepted :Bool)
    $Http.route(method = post, path = "/event", scope = ingest, success = 202, maxBodyBytes = 8388608, maxDepth = 64,
                summary = "Take one hook event; unknown fields are dropped, repeats are recognised by content");

  diagnostics @1 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, diagnostics :Status.Diagnostics)
    $Http.route(method = get, path = "/v1/diagnostics", scope = read, summary = "Posture of every family and operation, readiness, counts")
    $Http.snapshot("diagnostics");

  commandCenter @2 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, commandCenter :Status.CommandCenter)
    $Http.route(method = get, path = "/v1/command-center", scope = read, summary = "Safe rows: sessions, runs, actions, tasks")
    $Http.snapshot("commandCenter");

  actionList @3 (call :Call, request :Actions.ActionList) -> (problem :Common.Problem, meta :ReplyMeta, actions :List(Actions.Action), next :Text)
    $Http.route(method = get, path = "/v1/actions", scope = read, summary = "Guarded actions, newest first");

  actionGet @4 (call :Call, request :Actions.ActionGet) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action)
    $Http.route(method = get, path = "/v1/actions/{id}", scope = read, summary = "One action with its consent card; waits for a change");

  actionApprove @5 (call :Call, request :Actions.ActionDecide) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action)
    $Http.route(method = post, path = "/v1/actions/{id}/approve", scope = approve, summary = "Approve with the operator key's proof")
    $Http.mutating;

  actionReject @6 (call :Call, request :Actions.ActionDecide) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action)
    $Http.route(method = post, path = "/v1/actions/{id}/reject", scope = approve, summary = "Reject with the operator key's proof")
    $Http.mutating;

  terminalPreview @7 (call :Call, request :Terminal.TerminalRun) -> (problem :Common.Problem, meta :ReplyMeta, card :Actions.ConsentCard, decision :Common.Decision, reason :Text)
    $Http.route(method = post, path = "/v1/terminal/preview", scope = propose, summary = "The consent card and policy's answer; runs nothing");

  terminalRun @8 (call :Call, request :Terminal.TerminalRun) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, session :Terminal.TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/run", scope = propose, success = 201,
                summary = "Run a command on a PTY in its sandbox: 201 with the session, or 202 with the action that waits")
    $Http.mutating;

  sessionList @9 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, sessions :List(Terminal.TerminalSession), next :Text)
    $Http.route(method = get, path = "/v1/terminal/sessions", scope = read, summary = "Summaries of sessions")
    $Http.snapshot("sessions");

  sessionGet @10 (call :Call, request :Terminal.SessionGet) -> (problem :Common.Problem, meta :ReplyMeta, session :Terminal.TerminalSession)
    $Http.route(method = get, path = "/v1/terminal/sessions/{id}", scope = read, summary = "The one place with output");

  sessionInput @11 (call :Call, request :Terminal.SessionInput) -> (problem :Common.Problem, meta :ReplyMeta, session :Terminal.TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/sessions/{id}/input", scope = propose, summary = "Type into the session, for its owner")
    $Http.mutating;

  sessionResize @12 (call :Call, request :Terminal.SessionResize) -> (problem :Common.Problem, meta :ReplyMeta, session :Terminal.TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/sessions/{id}/resize", scope = propose, summary = "Set the window size, for its owner")
    $Http.mutating;

  sessionKill @13 (call :Call, request :Terminal.SessionKill) -> (problem :Common.Problem, meta :ReplyMeta, session :Terminal.TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/sessions/{id}/kill", scope = propose, summary = "End the whole tree, or signal the leader's group")
    $Http.mutating;

  sessionRestart @14 (call :Call, request :Terminal.SessionRestart) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, session :Terminal.TerminalSession)
    $Http.route(method = post, path = "/v1/terminal/sessions/{id}/restart", scope = propose, success = 201,
                summary = "A new action with its own decision that runs the same command again")
    $Http.mutating;

  auditList @15 (call :Call, request :Status.AuditList) -> (problem :Common.Problem, meta :ReplyMeta, records :List(Status.AuditRecord), next :UInt64)
    $Http.route(method = get, path = "/v1/audit", scope = read, summary = "Audit records in order");

  auditVerify @16 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, verdict :Status.AuditVerdict)
    $Http.route(method = get, path = "/v1/audit/verify", scope = read, summary = "Verify the chain, its signatures and its head");

  fileList @17 (call :Call, request :File.FileList) -> (problem :Common.Problem, meta :ReplyMeta, entries :List(File.FileEntry), next :Text, totalBytes :UInt64, skipped :UInt32)
    $Http.route(method = post, path = "/v1/file/list", scope = propose,
                summary = "Entries of a directory, or the copies that are kept");

  fileStat @18 (call :Call, request :File.FileStat) -> (problem :Common.Problem, meta :ReplyMeta, file :File.FileFacts)
    $Http.route(method = post, path = "/v1/file/stat", scope = propose,
                summary = "What is at a path");

  fileRead @19 (call :Call, request :File.FileRead) -> (problem :Common.Problem, meta :ReplyMeta, file :File.FileFacts, content :File.FileContent)
    $Http.route(method = post, path = "/v1/file/read", scope = propose,
                summary = "A bounded piece of a file, masked");

  fileWrite @20 (call :Call, request :File.FileWrite) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, file :File.FileFacts)
    $Http.route(method = post, path = "/v1/file/write", scope = propose, maxBodyBytes = 8388608,
                summary = "Make or replace a file as a whole: 200, or 202 with the action that waits")
    $Http.mutating;

  fileEdit @21 (call :Call, request :File.FileEdit) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, file :File.FileFacts)
    $Http.route(method = post, path = "/v1/file/edit", scope = propose, maxBodyBytes = 8388608,
                summary = "Replace a text that is there exactly once")
    $Http.mutating;

  fileDiff @22 (call :Call, request :File.FileDiff) -> (problem :Common.Problem, meta :ReplyMeta, changes :File.FileChanges)
    $Http.route(method = post, path = "/v1/file/diff", scope = propose, maxBodyBytes = 8388608,
                summary = "What a write, an edit or a restoration would change");

  fileDelete @23 (call :Call, request :File.FileDelete) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, file :File.FileFacts)
    $Http.route(method = post, path = "/v1/file/delete", scope = propose,
                summary = "Remove a file; a copy is kept")
    $Http.mutating;

  fileRestore @24 (call :Call, request :File.FileRestore) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, file :File.FileFacts)
    $Http.route(method = post, path = "/v1/file/restore", scope = propose,
                summary = "Bring a kept copy back")
    $Http.mutating;

  containerReadiness @25 (call :Call, request :Nothing) -> (problem :Common.Problem, meta :ReplyMeta, readiness :Container.ContainerReadiness)
    $Http.route(method = get, path = "/v1/container/readiness", scope = read,
                summary = "What a run needs and has: engines, image, mounts, network; labels alone");

  containerPreview @26 (call :Call, request :Container.RunContainer) -> (problem :Common.Problem, meta :ReplyMeta, card :Actions.ConsentCard, decision :Common.Decision, reason :Text, status :Common.Posture, missing :Text)
    $Http.route(method = post, path = "/v1/container/preview", scope = propose,
                summary = "The consent card, policy's answer and the gate that is missing; starts nothing");

  containerRun @27 (call :Call, request :Container.RunContainer) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, run :Container.Run)
    $Http.route(method = post, path = "/v1/container/run", scope = propose, success = 201,
                summary = "Run a template in a container of its own: 201 with the run, or 202 with the action that waits")
    $Http.mutating;

  runList @28 (call :Call, request :Container.RunList) -> (problem :Common.Problem, meta :ReplyMeta, runs :List(Container.Run), next :Text)
    $Http.route(method = get, path = "/v1/container/runs", scope = read,
                summary = "Runs, newest first");

  runGet @29 (call :Call, request :Container.RunGet) -> (problem :Common.Problem, meta :ReplyMeta, run :Container.Run)
    $Http.route(method = get, path = "/v1/container/runs/{id}", scope = read,
                summary = "One run; the one place with its output");

  runKill @30 (call :Call, request :ById) -> (problem :Common.Problem, meta :ReplyMeta, run :Container.Run)
    $Http.route(method = post, path = "/v1/container/runs/{id}/kill", scope = propose,
                summary = "End a run, for its owner: stop, grace, kill, removal")
    $Http.mutating;

  containerCleanup @31 (call :Call, request :Container.ContainerCleanup) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, removed :UInt32, left :UInt32)
    $Http.route(method = post, path = "/v1/container/cleanup", scope = propose,
                summary = "Remove our own containers that no run holds")
    $Http.mutating;

  taskCreate @32 (call :Call, request :Tasks.TaskCreate) -> (problem :Common.Problem, meta :ReplyMeta, task :Tasks.Task)
    $Http.route(method = post, path = "/v1/queue/tasks", scope = propose, success = 201,
                summary = "Queue a template on a workspace; runs nothing")
    $Http.mutating;

  taskList @33 (call :Call, request :Tasks.TaskList) -> (problem :Common.Problem, meta :ReplyMeta, tasks :List(Tasks.Task), next :Text)
    $Http.route(method = get, path = "/v1/queue/tasks", scope = read,
                summary = "Tasks, newest first");

  taskGet @34 (call :Call, request :ById) -> (problem :Common.Problem, meta :ReplyMeta, task :Tasks.Task)
    $Http.route(method = get, path = "/v1/queue/tasks/{id}", scope = read,
                summary = "One task");

  taskDispatch @35 (call :Call, request :Tasks.Dispatch) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, run :Container.Run)
    $Http.route(method = post, path = "/v1/queue/tasks/{id}/dispatch", scope = propose, success = 201,
                summary = "Run it, as container run would: 201 with the run, or 202 with the action that waits")
    $Http.mutating;

  taskCancel @36 (call :Call, request :Tasks.Order) -> (problem :Common.Problem, meta :ReplyMeta, task :Tasks.Task)
    $Http.route(method = post, path = "/v1/queue/tasks/{id}/cancel", scope = propose,
                summary = "Take it out of the queue, or end its run")
    $Http.mutating;

  taskRetry @37 (call :Call, request :Tasks.Order) -> (problem :Common.Problem, meta :ReplyMeta, task :Tasks.Task)
    $Http.route(method = post, path = "/v1/queue/tasks/{id}/retry", scope = propose,
                summary = "Queue it again with the next attempt number; runs nothing")
    $Http.mutating;

  campaignCreate @38 (call :Call, request :Tasks.CampaignCreate) -> (problem :Common.Problem, meta :ReplyMeta, campaign :Tasks.Campaign)
    $Http.route(method = post, path = "/v1/campaigns", scope = propose, success = 201,
                summary = "Queue tasks that depend on each other; runs nothing")
    $Http.mutating;

  campaignList @39 (call :Call, request :Container.RunList) -> (problem :Common.Problem, meta :ReplyMeta, campaigns :List(Tasks.Campaign), next :Text)
    $Http.route(method = get, path = "/v1/campaigns", scope = read,
                summary = "Campaigns, newest first");

  campaignGet @40 (call :Call, request :ById) -> (problem :Common.Problem, meta :ReplyMeta, campaign :Tasks.Campaign)
    $Http.route(method = get, path = "/v1/campaigns/{id}", scope = read,
                summary = "One campaign with its tasks");

  campaignDispatch @41 (call :Call, request :Tasks.Dispatch) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, run :Container.Run)
    $Http.route(method = post, path = "/v1/campaigns/{id}/dispatch", scope = propose, success = 201,
                summary = "Run the first of its tasks that may be dispatched")
    $Http.mutating;

  campaignCancel @42 (call :Call, request :Tasks.Order) -> (problem :Common.Problem, meta :ReplyMeta, campaign :Tasks.Campaign)
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

  gitStage @49 (call :Call, request :Git.GitStage) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/stage", scope = propose, summary = "Put files into the index")
    $Http.mutating;

  gitUnstage @50 (call :Call, request :Git.GitStage) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/unstage", scope = propose, summary = "Take files out of the index again")
    $Http.mutating;

  gitCommit @51 (call :Call, request :Git.GitCommit) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/commit", scope = propose, summary = "Commit the index; no hook runs")
    $Http.mutating;

  gitBranchCreate @52 (call :Call, request :Git.GitBranchCreate) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/branch-create", scope = propose, summary = "Make a branch")
    $Http.mutating;

  gitCheckout @53 (call :Call, request :Git.GitCheckout) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/checkout", scope = propose, summary = "Check out a branch in a clean working tree")
    $Http.mutating;

  gitWorktreeAdd @54 (call :Call, request :Git.GitWorktreeAdd) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/worktree-add", scope = propose, summary = "Add a linked working tree inside of the workspace")
    $Http.mutating;

  gitWorktreeRemove @55 (call :Call, request :Git.GitWorktreeRemove) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/worktree-remove", scope = propose, summary = "Remove one that holds nothing new")
    $Http.mutating;

  gitFetch @56 (call :Call, request :Git.GitFetch) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/fetch", scope = propose, summary = "Fetch from a remote that is a path within the workspaces")
    $Http.mutating;

  gitPush @57 (call :Call, request :Git.GitPush) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
    $Http.route(method = post, path = "/v1/git/push", scope = propose, summary = "Push to such a remote; blocked by policy as shipped")
    $Http.mutating;

  gitRollback @58 (call :Call, request :Git.GitRollback) -> (problem :Common.Problem, meta :ReplyMeta, action :Actions.Action, outcome :Git.GitOutcome)
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
