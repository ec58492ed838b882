# Between the broker and the front, one socketpair. The broker serves Gate; the front gives its SnapshotSink. A front that is taken over can propose
# and read as the principals whose tokens it saw, and lie to its readers.

@0xe532cd9ec5e29980;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Http = import "http.capnp";
using Api = import "api.capnp";
using Status = import "status.capnp";
$Cxx.namespace("factionos::schema");

interface Refusals {
  # What the front refuses by itself and the audit has all the same. For one principal.
  blockedField @0 (method :UInt16, field :Text) -> ();
  # Somebody sent a raw field. `method`: ordinal in Api; `field`: dotted, its last part one of Api.blockedFields, else nothing is recorded.
  # Answers when it is on the disk, or was one too many: the broker records a burst and then a few a minute.
}

struct Login {
  api @0 :Api.Api;
  # Null where nobody is known. Good until dropped or until loginEpoch changes.
  principal @1 :Text;
  # Label.
  scopes @2 :List(Http.Scope);
  problem @3 :Common.Problem;
  # unauthenticated, forbidden or rateLimited.
  withheld @4 :List(Text);
  # Fields of Status.Snapshot that policy keeps from this principal: their routes, and streams of them, answer policyBlocked.
  refusals @5 :Refusals;
}

interface SnapshotSink {
  publish @0 (snapshot :Status.Snapshot, loginEpoch :UInt64) -> ();
  # A changed loginEpoch: forget every cached Login (a token was revoked, policy was read again).
  shutdown @1 (graceMs :UInt32) -> ();
  # Accept no more, finish what is under way, exit.
}

struct Listener {
  socket @0 :Common.Descriptor;
  kind @1 :Kind;
  enum Kind { tcp @0; unixSocket @1; }
}

struct FrontConfig {
  allowedHosts @0 :List(Text);
  # Beyond the loopback names; matched whole, with or without the port.
  allowedOrigins @1 :List(Text);
  maxConnections @2 :UInt32 = 512;
  headerTimeoutMs @3 :UInt32 = 10000;
  bodyTimeoutMs @4 :UInt32 = 30000;
  idleTimeoutMs @5 :UInt32 = 60000;
  writeTimeoutMs @6 :UInt32 = 10000;
  version @7 :Text;
}

interface Gate {
  start @0 (sink :SnapshotSink) -> (config :FrontConfig, listeners :List(Listener));
  token @1 (token :Data) -> (login :Login);
  # The broker compares keyed digests; the front keeps no list.
  peer @2 (connection :Common.Descriptor) -> (login :Login);
  # A connection accepted on the unix socket: the broker reads the peer's uid from the descriptor itself.
}
