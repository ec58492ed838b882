# Tasks and campaigns: what their REST routes take and give. A task's only executable is a container run (container.capnp).

@0xc58cc4143d68176a;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
using Common = import "common.capnp";
using Actions = import "actions.capnp";
using Approval = Common.Approval;
$Cxx.namespace("factionos::schema");

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
  counts @5 :List(Actions.ChangeCount);
  # Tasks by state.
  tasks @6 :List(Task);
  # In the campaign's own reply alone.
  createdAt @7 :Int64 $Http.time;
  updatedAt @8 :Int64 $Http.time;
}

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
