# Every feature of the JSON boundary that no route uses yet.
@0xd0f3c8a7e1b24596;

using Cxx = import "/capnp/c++.capnp";
using Http = import "/protocol/schemas/http.capnp";
$Cxx.namespace("factionos::json::sample");

enum Colour { unspecified @0; deepRed @1; blue2Green @2; }

struct Inner {
  name @0 :Text $Http.required $Http.text(min = 2, max = 8);
  count @1 :UInt8;
}

struct Outcome {
  union { unspecified @0 :Void; waiting @1 :Void; code @2 :Int32; inner @3 :Inner; }
}

struct Sample {
  flag @0 :Bool;
  hidden @1 :Text $Http.internal;
  i8 @2 :Int8;
  i16 @3 :Int16;
  i32 @4 :Int32;
  i64 @5 :Int64;
  u8 @6 :UInt8;
  u16 @7 :UInt16;
  u32 @8 :UInt32;
  u64 @9 :UInt64;
  ranged @10 :Int32 = 500 $Http.range(min = -5, max = 5);
  text @11 :Text;
  colour @12 :Colour;
  when @13 :Int64 $Http.time;
  inner @14 :Inner;
  inners @15 :List(Inner) $Http.items(3);
  colours @16 :List(Colour);
  numbers @17 :List(UInt16) $Http.range(min = 1, max = 10) $Http.items(4);
  words @18 :List(Text) $Http.text(max = 4) $Http.items(2);
  flags @19 :List(Bool);
  zero @20 :UInt32 $Http.omitZero;
  no @21 :Bool $Http.omitZero;
  renamed @22 :Text $Http.jsonName("re_named");
  outcome @23 :Outcome;
  named :union { unspecified @24 :Void; idle @25 :Void; level @26 :UInt16; }
  blob @27 :Data $Http.internal;
  nothing @28 :Void;
}

struct Loose $Http.tolerant {
  text @0 :Text $Http.text(max = 5);
  count @1 :UInt16;
  words @2 :List(Text) $Http.text(max = 3) $Http.items(2);
  inside @3 :Loose;
  digest @4 :Data $Http.bodyDigest;
}

struct Unwritable { blob @0 :Data; }

struct Asked {
  required @0 :UInt16 $Http.in(query) $Http.required;
  since @1 :Int64 $Http.in(query) $Http.time;
  deep @2 :Bool $Http.in(query);
  signed @3 :Int32 $Http.in(query);
  word @4 :Text $Http.in(query) $Http.text(max = 4);
  colour @5 :Colour $Http.in(query);
}
