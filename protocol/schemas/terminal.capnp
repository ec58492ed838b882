# The terminal family: what its REST routes take and give. What the broker says to the workers that run a session is in session.capnp.

@0xaa8b9bbc7d1f8e6c;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
using Common = import "common.capnp";
using Actions = import "actions.capnp";
using Approval = Common.Approval;
$Cxx.namespace("factionos::schema");

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
  # Labels of what its sandbox could not have, such as "proc_shared".
  denials @22 :List(Common.DenialCount);
  output @23 :Actions.Output;
  # In the selected session's detail alone.
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
