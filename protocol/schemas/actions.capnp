# Guarded actions as the REST surface shows them: the consent card, the action's state, and the requests that decide.

@0xa87c600aab147d21;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
using Common = import "common.capnp";
$Cxx.namespace("factionos::schema");

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
  # Bytes are counted as they are shown, after masking, and those that never came so far as their producer wrote them. The same counts stand, under the same
  # names, with a run and with a session: totalBytes - droppedBytes are what can be read.
  text @0 :Text;
  # From `after` on: UTF-8, secrets masked, controls but tab and newline shown as escapes.
  head @1 :Text;
  tail @2 :Text;
  # Present where no `after` was given and the output was cut in the middle.
  totalBytes @3 :UInt64;
  # All that came, droppedBytes among them.
  droppedBytes @4 :UInt64;
  # Cut out of the middle, as too much to keep (`gapBytes` where it is read past), or lost before it was masked: `[dropped:N]` stands where a slow broker
  # made its worker drop, `[withheld:after_gap bytes=N]` where what followed might be the rest of a secret.
  lines @5 :UInt64;
  truncated @6 :Bool;
  offset @7 :UInt64;
  # Absolute offset of the first byte of `text`, or of `tail`. What was lost before masking takes no offset: an empty text, and not totalBytes, is the end.
  next @8 :UInt64;
  # What to send as `after` to go on.
  gapBytes @9 :UInt64;
  # Bytes between `after`, or the end of `head`, and `offset` that are not here.
  withheld @10 :Bool;
  # The masker failed and shows nothing more.
}

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
