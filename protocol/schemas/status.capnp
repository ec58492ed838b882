# What the routes tell about FactionOS itself: diagnostics, the command center, the audit.

@0xdb15e96fec216da6;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
using Common = import "common.capnp";
using Actions = import "actions.capnp";
using Terminal = import "terminal.capnp";
using Container = import "container.capnp";
using Tasks = import "tasks.capnp";
$Cxx.namespace("factionos::schema");

struct OperationPosture { operation @0 :Text; status @1 :Common.Posture; reason @2 :Text; }

struct FamilyPosture {
  family @0 :Common.Family;
  status @1 :Common.Posture;
  reason @2 :Text;
  operations @3 :List(OperationPosture);
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
  terminal @8 :Terminal.TerminalReadiness;
  container @9 :Container.ContainerReadiness;
  sandbox @10 :SandboxReadiness;
  counts @11 :Counts;
  capabilities @12 :List(Text);
  docs @13 :List(Text);
  masking @14 :MaskingReadiness;
}

struct CommandCenter {
  revision @0 :UInt64;
  sessions @1 :List(Terminal.TerminalSession);
  actions @2 :List(Actions.Action);
  runs @3 :List(Container.Run);
  tasks @4 :List(Tasks.Task);
}

struct Snapshot {
  # What the broker publishes to the front when it changes. Every member is already redacted for its boundary.
  revision @0 :UInt64;
  diagnostics @1 :Diagnostics;
  commandCenter @2 :CommandCenter;
  sessions @3 :List(Terminal.TerminalSession);
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

struct AuditList {
  after @0 :UInt64 $Http.in(query) $Http.range(min = 0, max = 9007199254740991);
  limit @1 :UInt16 = 100 $Http.in(query) $Http.range(min = 1, max = 1000);
}
