# How a schema says that it is a REST route. The front, the OpenAPI generator and the broker read these annotations by
# reflection; no route has a parser, a table row or a document of its own.

@0xe58803ede30caca3;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("factionos::schema");

enum Scope {
  # What a principal may do. A route names the one scope that it needs.
  unspecified @0;
  ingest @1;   # send hook events
  read @2;     # see labels, states, counts, and the output of the sessions that it may see
  propose @3;  # ask for guarded actions, drive its own sessions
  approve @4;  # hand in a decision together with the operator key's proof
  admin @5;    # export the audit
}

enum Method { unspecified @0; get @1; post @2; any @3; }

enum Place { body @0; path @1; query @2; }

struct Route {
  method @0 :Method;
  path @1 :Text;
  # A template: "/v1/actions/{id}". A name in braces is a field of the request struct that has $in(path).
  scope @2 :Scope;
  summary @3 :Text;
  # One line for the OpenAPI document.
  success @4 :UInt16 = 200;
  maxBodyBytes @5 :UInt32 = 1048576;
  maxDepth @6 :UInt8 = 16;
  # Nesting of the JSON body, the outermost object being 1.
}

struct TextLimit {
  min @0 :UInt32 = 0;
  max @1 :UInt32;
  # Bytes of UTF-8.
}

struct Range { min @0 :Int64; max @1 :Int64; }

struct ProblemKind {
  status @0 :UInt16;
  title @1 :Text;
  retryable @2 :Bool;
  recovery @3 :Text;
  # The next step for whoever reads the problem.
}

annotation route(method) :Route;
annotation mutating(method) :Void;
# Needs an Idempotency-Key header, which reaches the broker in Call.idempotencyKey.
annotation snapshot(method) :Text;
# Served by the front from the field of this name of the last published Snapshot; the broker is not asked.

annotation in(field) :Place;
annotation required(field) :Void;
annotation text(field) :TextLimit;
# Of a Text field, or of each element of a List(Text). Absent: 256 bytes at most. NUL is refused everywhere.
annotation items(field) :UInt32;
# The most elements of a list. Absent: 64.
annotation range(field) :Range;
# Of a number that is present. An absent number takes the schema's default, which may lie outside of the range.
annotation time(field) :Void;
# Int64, milliseconds since 1970 UTC; RFC 3339 with milliseconds in JSON; 0 is absent.
annotation omitZero(field) :Void;
# 0 and false are absent in JSON.
annotation internal(field) :Void;
# Never in JSON, neither in nor out.
annotation jsonName(field) :Text;
# The member's name where it is not the field's own.
annotation bodyDigest(field) :Void;
# A Data field that the JSON reader fills with the BLAKE2b-256 of the whole body; never a JSON member.
annotation tolerant(struct) :Void;
# Unknown members are dropped, text over its limit is cut at a character, and a member of a wrong type is dropped. Elsewhere all three are errors.
annotation problem(enumerant) :ProblemKind;
