# On run/operator.sock, accepted by the broker itself, which reads the peer's uid there. Speaks to the operator's CLI. Everything but hello and login needs the
# operator key: the client signs the broker's nonce.

@0xd717e0b98397ce7a;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Http = import "http.capnp";
using Actions = import "actions.capnp";
using Status = import "status.capnp";
$Cxx.namespace("factionos::schema");

struct Token { name @0 :Text; scopes @1 :List(Http.Scope); createdAt @2 :Int64 $Http.time; revoked @3 :Bool; }

struct Grant {
  id @0 :Text;
  family @1 :Common.Family;
  operation @2 :Text;
  workspace @3 :Text;
  principal @4 :Text;
  program @5 :Text;
  # Absolute path, "sh", "workspace" or "*".
  network @6 :Common.NetworkProfile;
  until @7 :Int64 $Http.time;
  createdAt @8 :Int64 $Http.time;
  reason @9 :Text;
}

interface Operator {
  actions @0 (state :Common.ActionState) -> (actions :List(Actions.Action));
  action @1 (id :Text) -> (action :Actions.Action, problem :Common.Problem);
  decide @2 (id :Text, expectedRevision :UInt64, verdict :Common.Verdict, reason :Text, proof :Text) -> (action :Actions.Action, problem :Common.Problem);
  reveal @3 (id :Text) -> (text :Text, totalBytes :UInt64, hiddenBytes :UInt64, problem :Common.Problem);
  # From memory, only while the action waits. Control, bidi and invisible code points are already made visible.
  grantAdd @4 (grant :Grant) -> (id :Text, problem :Common.Problem);
  grantList @5 () -> (grants :List(Grant));
  grantRemove @6 (id :Text) -> (problem :Common.Problem);
  tokenCreate @7 (name :Text, scopes :List(Http.Scope)) -> (token :Text, problem :Common.Problem);
  # The only time that the token is told.
  tokenList @8 () -> (tokens :List(Token));
  tokenRevoke @9 (name :Text) -> (problem :Common.Problem);
  policyReload @10 () -> (revision :UInt64, problem :Common.Problem);
  # The broker reads policy.toml again; on an error the old one stays and the problem's detail names line and field.
  policyShow @11 () -> (revision :UInt64, rules :List(Text));
  auditList @12 (after :UInt64, limit :UInt16) -> (records :List(Status.AuditRecord), next :UInt64);
  auditVerify @13 () -> (verdict :Status.AuditVerdict);
  workspaceReload @14 () -> (problem :Common.Problem);
  status @15 () -> (diagnostics :Status.Diagnostics);
}

interface OperatorGate {
  hello @0 () -> (nonce :Data, broker :Text, publicKey :Data);
  # `broker` identifies this home's broker; it is part of what is signed, so that a proof for one broker is worthless at another.
  login @1 (signature :Data) -> (operator :Operator, problem :Common.Problem);
  # Over hello's nonce, once; three failures close the connection.
}
