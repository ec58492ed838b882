@0xd3b0c1a9f4e27586;
# What the tests of protocol/rpc speak.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("factionos::rpc::test");

interface Carrier {}
# Stands for a descriptor.

interface Echo {
  ping @0 (value :UInt64) -> (value :UInt64);
  never @1 (data :Data);
  # Does not return as long as the server lives.

  fail @2 ();
  give @3 () -> (carrier :Carrier);
  # A capability with the read end of a new pipe.

  take @4 (carriers :List(Carrier)) -> (received :UInt32);
  # How many of them brought a descriptor.

  big @5 (bytes :UInt32) -> (data :Data);
  push @6 (data :Data) -> stream;
  pushed @7 () -> (bytes :UInt64);
  callBack @8 (peer :Echo, value :UInt64) -> (value :UInt64);
  closeConnection @9 ();
}
