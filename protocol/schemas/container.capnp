# The container family: what its REST routes take and give, and what the broker and one container worker say to each other. The worker
# speaks to one container engine (Docker Engine or Podman's same API) over connected sockets that it is given; it can make none. The broker
# gives a resolved template, never a caller's words; the body that the engine gets is built by the worker in one place
# (workers/container/body.cpp).
#
# A rootful engine is root on this machine, and so is whoever holds its socket: a hostile worker can do with it whatever the engine's API
# can. What the worker says is therefore hostile input to the broker, as from every other worker: labels and numbers are checked, output is
# masked.

@0xe2b8b0d94f7c51a3;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
using Common = import "common.capnp";
using Actions = import "actions.capnp";
using Approval = Common.Approval;
$Cxx.namespace("factionos::schema");

# ------------------------------------------------------------------------------------------------ what is run

enum EngineKind { unspecified @0; docker @1; podman @2; }

enum ContainerNetwork {
  unspecified @0;
  none @1;    # a loopback and nothing else
  egress @2;  # the engine's network "factionos-egress", which the operator has made (docker/egress-network)
}

enum MountRole {
  unspecified @0;
  workspace @1;  # at /workspace, which is also the working directory
  auth @2;       # at /auth; read-only whatever `access` says
}

enum MountAccess { unspecified @0; read @1; write @2; }

struct ContainerMount {
  role @0 :MountRole;
  # Each role at most once.
  source @1 :Text;
  # Absolute path of a directory on this machine, canonical, without symbolic links; checked by the broker at each run. At most 4095 bytes.
  # What is mounted below it is not seen in the container.
  access @2 :MountAccess;
}

struct ContainerLimits {
  # Every one is needed: 0 is denied "limit_invalid".
  memoryBytes @0 :UInt64;   # 8 MiB to 1 TiB; there is no swap beyond it
  milliCpus @1 :UInt32;     # 10 to 1024000: thousandths of a CPU
  pids @2 :UInt32;          # 1 to 32768; the init counts too
  openFiles @3 :UInt32;     # 16 to 1048576
  temporaryBytes @4 :UInt64;  # of /tmp, which lies in memory; 64 KiB to 16 GiB
  timeoutMs @5 :UInt64;     # from start() to the stop signal; 1 ms to 7 days
  graceMs @6 :UInt32;       # from the stop signal to SIGKILL; 1 ms to 60 s
}

struct ContainerOwner {
  # Becomes labels of the container, by which it is found again. Texts match [A-Za-z0-9_-]{1,64}.
  instance @0 :Text;
  # Of this home: a random id that outlives the broker, in no other home.
  run @1 :Text;
  action @2 :Text;
  # The name is "factionos-" and this id in lower case with '_' as '-': a retry of the action finds its own container.
  pid @3 :UInt32;
  startTime @4 :UInt64;
  # Of the broker: clock ticks since boot, /proc/PID/stat field 22. A process number alone comes back.
  proof @5 :Text;
  # Opaque to the worker and the engine: a keyed digest by the broker over instance, run and action, so that it knows its own label again.
}

struct ContainerSpec {
  # A resolved template. Nothing in it comes from a request, but for which template, workspace and network profile it is.
  template @0 :Text;
  # Label: its id.
  image @1 :Text;
  # [a-z0-9][a-z0-9._/-]*(:[A-Za-z0-9._-]+)?, at most 128 bytes: "factionos-isolated:latest". Never pulled: missing is denied "image_missing".
  argv @2 :List(Text);
  # 1 to 64 words of at most 4096 bytes, no NUL. Set as entry point and arguments: the image's own are not used. No shell joins them.
  user @3 :UInt32;
  group @4 :UInt32;
  # Numeric and not 0: the owner of the workspace.
  limits @5 :ContainerLimits;
  mounts @6 :List(ContainerMount);
  network @7 :ContainerNetwork;
  owner @8 :ContainerOwner;
  imageId @9 :Text;
  # What `image` named when the run was judged, as probe() told it: "sha256:" and 64 hex digits. The container is made of this very image; where
  # `image` names another by now, denied "image_changed". Empty: whatever `image` names.
}

# ------------------------------------------------------------------------------------------------ what comes of it

enum OutputStream { unspecified @0; stdout @1; stderr @2; }

interface ContainerSink {
  write @0 (stream :OutputStream, bytes :Data, dropped :UInt64) -> stream;
  # At most 64 KiB a call, raw, each stream in its order: mask each by a masker of its own. The worker drains the container whatever happens here: while
  # this is slow it keeps 1 MiB, then drops, and says in the next call how many bytes of this stream are missing right before it.
  end @1 (totalBytes :UInt64, droppedBytes :UInt64) -> ();
  # Nothing more will come. Sent before `ended` answers, also where the container was never started.
}

enum ContainerEnd {
  unspecified @0;
  exited @1;       # by itself; exitCode is its own
  killed @2;       # kill(), or the run's capability was dropped
  timedOut @3;     # limits.timeoutMs
  outOfMemory @4;  # the kernel ended it at limits.memoryBytes
  notStarted @5;   # see `denial`; nothing of it ran
  lost @6;         # the engine went away, or did not tell how it ended: exitCode is not known, never 0 by default
}

enum Removal {
  unspecified @0;
  removed @1;  # the engine says that there is no such container any more
  left @2;     # it could not be removed in its time: list() will show it
}

struct ContainerOutcome {
  end @0 :ContainerEnd;
  exitCode @1 :Int32 = -1;
  # 0 to 255 where the engine told it, whatever `end` is (137: SIGKILL); -1: not known.
  pidsReached @2 :Bool;
  # The number of its processes was seen at limits.pids. Sampled: false is no proof.
  adopted @3 :Bool;
  # It had been made by an earlier try of this action. Output from before is missing.
  removal @4 :Removal;
  startedMs @5 :Int64;
  endedMs @6 :Int64;
  # Milliseconds since 1970 by the worker's clock; 0: never.
  totalBytes @7 :UInt64;
  droppedBytes @8 :UInt64;
  denial @9 :Common.Denial;
  # Of notStarted and lost; and of others output_unreadable: what the engine sent as output was no stream of frames, had one of more than 16 MiB, or
  # ended within one. It is counted as dropped from there on. Codes: engine_unavailable (can't be reached, or broke the protocol), engine_refused (answered with an error; target: its
  # status), image_missing, network_missing, mount_refused, name_taken (a container that is not ours, or not of this spec, has the name: it is left
  # alone), not_as_meant (the engine made it otherwise than asked; target: the field; it has been removed), start_refused (target: the engine's
  # status), engine_timeout.
}

interface ContainerRun {
  # Dropping it ends the container as kill() does.

  started @0 () -> (started :Bool);
  # Waits until it runs; false: it never will, and `ended` says why.
  ended @1 () -> (outcome :ContainerOutcome);
  # Waits until it has ended, was removed and its output was handed over. At most graceMs + 60 s after timeoutMs or kill(). May be asked again.
  kill @2 () -> ();
  # Stop signal, grace, SIGKILL, removal: in that order whatever state it is in, also before it was created. Answers at once; any number of times.
}

# ------------------------------------------------------------------------------------------------ what is found

enum ContainerState { unspecified @0; created @1; running @2; ended @3; removing @4; }

struct FoundContainer {
  # One that carries our labels.
  id @0 :Text;
  # The engine's: 64 hex digits.
  owner @1 :ContainerOwner;
  # From its labels: as hostile as everything else. Check `proof` before believing it.
  state @2 :ContainerState;
  exitCode @3 :Int32 = -1;
  outOfMemory @4 :Bool;
  # Of `ended`, and told by settle() alone: a list does not have them. One that settle() found running is `running`: it was stopped, and how it took
  # that says nothing of its work.
  template @5 :Text;
}

enum Settlement {
  unspecified @0;
  absent @1;   # there is no such container: never made, or removed
  removed @2;  # it was ours and is gone now
  foreign @3;  # what has the name or the id does not carry this owner's labels: left alone
  left @4;     # ours, and could not be removed in its time
}

# ------------------------------------------------------------------------------------------------ what the engine can

struct Probe {
  # One thing that was looked at, by itself and within 3 s.
  status @0 :Common.Posture;
  # available, unavailable, timeout (the engine did not answer in time) or policyBlocked (it is there and is not what it must be).
  reason @1 :Text;
  # A fixed name: "engine_unreachable", "engine_too_old", "image_missing", "image_not_ours", "network_missing", "limits_missing", "seccomp_missing" …
}

struct EngineProbe {
  engine @0 :Probe;
  apiVersion @1 :Text;
  # Negotiated: "1.41".
  kind @2 :EngineKind;
  # What answers there, by its own account.
  rootless @3 :Bool;
  # false: whoever takes over this worker or the engine is root. doctor and posture warn.
  userRemap @4 :Bool;
  # User namespaces: root inside is nobody outside.
  isolation @5 :Probe;
  # seccomp, and limits of memory, swap, CPU and processes that the engine says it enforces.
  image @6 :Probe;
  imageVersion @7 :Text;
  # Label of the image: org.factionos.version.
  imageProviders @8 :List(Text);
  # Labels: org.factionos.providers, separated by commas; at most 16.
  browserDependencies @9 :Probe;
  # Label: org.factionos.browser-dependencies.
  egress @10 :Probe;
  cleanup @11 :Probe;
  # Whether containers can be listed by label.
  leftovers @12 :UInt32;
  # Containers of `instance` that are there, running ones included.
  imageId @13 :Text;
  # Of the image: "sha256:" and 64 hex digits; empty where there is none. What is approved is this image.
}

# ------------------------------------------------------------------------------------------------ the worker

interface EngineConnector {
  # Made by the launcher for the one engine that it was configured with; handed on by the broker. The holder can't say where to.
  connect @0 () -> (socket :Common.Descriptor, denial :Common.Denial);
  # A unix stream socket, connected. Denied "engine_unreachable" (rule: the errno's name) or "too_many_connections" (1000 a second).
}

interface Containers {
  probe @0 (image :Text, instance :Text) -> (probe :EngineProbe);
  # Changes nothing. Answers within 4 s.

  run @1 (spec :ContainerSpec, sink :ContainerSink) -> (run :ContainerRun, denial :Common.Denial);
  # Answers at once: the spec is judged, nothing was asked of the engine yet. Denials: spec_invalid (rule: the field), too_many_runs (64).
  # Create → inspect and compare → attach → wait → start. Once for an action: a repeat adopts what an earlier try made, running or ended.

  list @2 (instance :Text) -> (containers :List(FoundContainer), truncated :Bool, denial :Common.Denial);
  # Those with this instance's labels, in every state; at most 1000. Other containers are not looked at.

  settle @3 (owner :ContainerOwner, graceMs :UInt32) -> (settlement :Settlement, found :FoundContainer, denial :Common.Denial);
  # For what no run of this worker holds: after a crash, or a leftover. Looks for the container of owner.action; if its instance, run, action and proof
  # are this owner's, tells how it ended, stops it if it runs, and removes it with its volumes. `pid` and `startTime` are not compared: whether the
  # old owner lives is the broker's to judge. Denied "run_active" while a run of this worker holds it.
}

interface Container {
  # What a container worker offers on its line.
  open @0 (connector :EngineConnector, engine :EngineKind) -> (containers :Containers, denial :Common.Denial);
  # Once. Asks the engine nothing: it may be started later than this. Dropping `containers` kills what runs.
}

# ------------------------------------------------------------------------------------------------ REST routes

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
  output @22 :Actions.Output;
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
