# Values that every interface shares. Texts named "label" match [A-Za-z0-9][A-Za-z0-9 ._:@+/-]{0,63}; a label that comes from a
# worker is checked against that grammar before it is used. No value here holds a command, output, a path, a token or a prompt.

@0xb7b6336024375f85;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
$Cxx.namespace("factionos::schema");

interface Descriptor {}
# Carries one file descriptor beside the message. Dropping it closes the holder's copy.

enum Family { unspecified @0; file @1; git @2; terminal @3; container @4; remote @5; hosted @6; }

enum Posture {
  unspecified @0;
  available @1;
  unavailable @2;
  nonExecuting @3;
  deferred @4;
  offline @5;
  authRequired @6;
  timeout @7;
  policyBlocked @8;
}

enum ActionState {
  unspecified @0;
  proposed @1;
  approved @2;
  rejected @3;
  expired @4;
  executing @5;
  succeeded @6;
  failed @7;
  timedOut @8;
  unknown @9;
  # A crash hid the outcome; reconciliation turns it into succeeded or failed.
}

enum Decision { unspecified @0; allow @1; ask @2; deny @3; }

enum Verdict { unspecified @0; approve @1; reject @2; }

enum Risk { unspecified @0; low @1; medium @2; high @3; }

enum Rollback { unspecified @0; automatic @1; manual @2; none @3; }

enum IdempotencyState {
  unspecified @0;
  fresh @1;     # first time that this key is seen
  waiting @2;   # the action waits for a decision; a repeat with a valid approval executes
  inFlight @3;
  done @4;      # repeats replay
}

enum NetworkProfile {
  unspecified @0;
  none @1;
  loopback @2;  # its own loopback; needs a network namespace
  full @3;      # everything that this machine can reach, its own services included
  egress @4;    # containers alone: out through the engine's own network factionos-egress
}

struct Exit {
  union {
    running @0 :Void;
    code @1 :UInt8;     # exit status
    signal @2 :UInt8;   # number of the signal that ended the leader
    lost @3 :Void;      # the supervisor died before it could tell
  }
}

struct Denial {
  # An answer, never an exception: what was refused and by which rule of ours.
  code @0 :Text;
  # A fixed name such as "program_not_found".
  rule @1 :Text;
  target @2 :Text;
  # Labels.
}

struct DenialCount {
  # One kind of act that a session's walls refused. File modes, and what is not there, are not the walls'.
  source @0 :Text;
  # "seccomp", "landlock", "namespace" or "supervisor"; "landlock-audit": the kernel's own record of what the supervisor did not hear.
  operation @1 :Text;
  # "read", "write", "create", "exec", "enter" (a directory), "connect", or "syscall:" and a call's name.
  target @2 :Text;
  # A class, such as "home", "outside" or "workspace:.git/hooks"; never a path of the caller.
  count @3 :UInt64;
  firstAt @4 :Int64 $Http.time;
  lastAt @5 :Int64 $Http.time;
}

struct Approval {
  actionId @0 :Text $Http.required $Http.text(min = 30, max = 40);
  expectedRevision @1 :UInt64 $Http.required $Http.range(min = 1, max = 9007199254740991);
}

enum ProblemCode {
  unspecified @0 $Http.problem(status = 500, title = "Internal error", retryable = true, recovery = "See the broker's log and try again.");
  invalidJson @1 $Http.problem(status = 400, title = "The body is not valid JSON", recovery = "Send one JSON object in UTF-8 without duplicate members.");
  invalidRequest @2 $Http.problem(status = 400, title = "The request does not match its schema", recovery = "Compare the named field with /openapi.json.");
  blockedField @3 $Http.problem(status = 400, title = "A raw field is not accepted here", recovery = "Leave the named field out; name a workspace or a profile instead.");
  invalidLabel @4 $Http.problem(status = 400, title = "A label has characters or a length that labels don't have", recovery = "Use letters, digits and . _ : @ + - only.");
  idempotencyKeyRequired @5 $Http.problem(status = 400, title = "A mutating request needs an Idempotency-Key", recovery = "Send an Idempotency-Key header of 1 to 255 visible ASCII characters.");
  unauthenticated @6 $Http.problem(status = 401, title = "No valid token", recovery = "Send Authorization: Bearer with a token from 'factionos token create'.");
  forbidden @7 $Http.problem(status = 403, title = "That is not permitted", recovery = "See the detail; where there is none, use a principal that has the scope which the route's documentation names.");
  policyBlocked @8 $Http.problem(status = 403, title = "Policy denies this", recovery = "Ask the operator; 'factionos policy check' tells the rule.");
  selfApproval @9 $Http.problem(status = 403, title = "The requester can't decide its own action", recovery = "Let another principal decide.");
  originRefused @10 $Http.problem(status = 403, title = "Requests from this origin are refused", recovery = "List the origin in config.toml if it is yours.");
  hostRefused @11 $Http.problem(status = 403, title = "This Host is refused", recovery = "Use a loopback name, or list the host in config.toml.");
  notFound @12 $Http.problem(status = 404, title = "There is no such thing", recovery = "Check the id or the route.");
  methodNotAllowed @13 $Http.problem(status = 405, title = "The route exists with another method", recovery = "See the Allow header.");
  staleRevision @14 $Http.problem(status = 409, title = "The action has moved on", recovery = "Read the action again and decide on its current revision.");
  inFlight @15 $Http.problem(status = 409, title = "The first request with this key is under way", retryable = true, recovery = "Send it again after Retry-After.");
  approvalDrift @16 $Http.problem(status = 409, title = "What was approved is not what would run", recovery = "Propose again and have the present state approved.");
  approvalUsed @17 $Http.problem(status = 409, title = "The approval has been used", recovery = "Propose again with a new key.");
  approvalExpired @18 $Http.problem(status = 409, title = "Nobody decided in time", recovery = "Propose again with a new key.");
  rejected @19 $Http.problem(status = 409, title = "The operator rejected the action", recovery = "Propose something else.");
  resourceBusy @20 $Http.problem(status = 409, title = "Another action holds this resource", retryable = true, recovery = "Wait until it has ended.");
  sessionEnded @21 $Http.problem(status = 409, title = "The session has ended", recovery = "Start or restart one.");
  tooLarge @22 $Http.problem(status = 413, title = "Too large", recovery = "See the limits in /openapi.json.");
  unsupportedMediaType @23 $Http.problem(status = 415, title = "Only application/json is read", recovery = "Send Content-Type: application/json.");
  idempotencyMismatch @24 $Http.problem(status = 422, title = "This key belongs to another request", recovery = "Use a new Idempotency-Key.");
  scopeViolation @25 $Http.problem(status = 422, title = "The target lies outside of the workspace", recovery = "Name something inside of the workspace.");
  repositoryRefused @26 $Http.problem(status = 422, title = "This repository is refused", recovery = "See docs/git.md.");
  rateLimited @27 $Http.problem(status = 429, title = "Too many requests", retryable = true, recovery = "Send it again after Retry-After.");
  tooManySessions @28 $Http.problem(status = 429, title = "Too many sessions", retryable = true, recovery = "End a session first.");
  unavailable @29 $Http.problem(status = 501, title = "Not implemented", recovery = "See /v1/diagnostics for what is available.");
  ptyUnavailable @30 $Http.problem(status = 503, title = "No pseudo-terminal is to be had", recovery = "Mount devpts; 'factionos status' tells more.");
  sandboxUnavailable @31 $Http.problem(status = 503, title = "The sandbox can't be enforced here", recovery = "'factionos status' names the missing guarantee.");
  engineUnavailable @32 $Http.problem(status = 503, title = "No container engine", recovery = "Start one.");
  imageUnavailable @33 $Http.problem(status = 503, title = "The image is missing", recovery = "Build it with docker/build.");
  auditUnavailable @34 $Http.problem(status = 503, title = "The audit can't be written, so nothing is run", retryable = true, recovery = "Free disk space or mend the permissions of the home.");
  shuttingDown @35 $Http.problem(status = 503, title = "Shutting down", retryable = true, recovery = "Send it again later.");
  timedOut @36 $Http.problem(status = 504, title = "Timed out", recovery = "Read the action for its state.");
  invalidHeader @37 $Http.problem(status = 400, title = "The request's header block is refused", recovery = "Send plain HTTP/1.1 with one Host.");
  requestTimeout @38 $Http.problem(status = 408, title = "The request came too slowly", retryable = true, recovery = "Send it again.");
  lengthRequired @39 $Http.problem(status = 411, title = "Transfer-Encoding is refused", recovery = "Send a Content-Length.");
  targetTooLong @40 $Http.problem(status = 414, title = "The request target is too long", recovery = "Keep it below 8 KiB.");
  expectationFailed @41 $Http.problem(status = 417, title = "Only Expect: 100-continue is known", recovery = "Leave Expect out.");
  headerTooLarge @42 $Http.problem(status = 431, title = "The header block is too large", recovery = "Keep it below 16 KiB and 100 fields.");
  versionUnsupported @43 $Http.problem(status = 505, title = "Only HTTP/1.0 and HTTP/1.1 are spoken", recovery = "Use HTTP/1.1.");
  notReady @44 $Http.problem(status = 503, title = "Not ready yet", retryable = true, recovery = "Send it again in a moment.");
  stateUnavailable @45 $Http.problem(status = 503, title = "The state can't be written, so nothing is run", retryable = true, recovery = "Free disk space or mend the permissions of the home.");
  workerMisbehaved @46 $Http.problem(status = 502, title = "A worker broke the protocol and was killed", recovery = "Read the action for its state; report the audit record.");
  alreadyDecided @47 $Http.problem(status = 409, title = "The action is no longer waiting", recovery = "Read the action for its state.");
  inputRefused @48 $Http.problem(status = 422, title = "The terminal can't take this input now", retryable = true, recovery = "In line mode a line is at most 4095 bytes; wait until the program reads, or send less.");
  changeRefused @49 $Http.problem(status = 422, title = "The present state does not allow this", recovery = "See the detail and docs/git.md.");
}

struct Problem {
  # application/problem+json; status, title, retryable and the default recovery come from the code's annotation.
  code @0 :ProblemCode;
  family @1 :Family;
  operation @2 :Text;
  field @3 :Text;
  # A field name of ours, never the sender's text.
  detail @4 :Text;
  # A fixed sentence of ours.
  currentRevision @5 :UInt64 $Http.omitZero;
  retryAfterMs @6 :UInt32 $Http.omitZero;
  docs @7 :Text;
  recovery @8 :Text;
  # Overrides the code's own.
  state @9 :ActionState;
  # Where an action's own state says more than the code: with timed_out, `timed_out` or `unknown`.
}
