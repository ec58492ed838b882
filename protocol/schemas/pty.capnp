# Between the broker and one pty worker, one socketpair. The worker holds the PTY master and nothing else: it reads bytes and hands them to the one
# sink that it was given, and writes what the broker's owner of the session typed. What it says is hostile input to the broker.

@0xa2551c7b3fda07f0;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
$Cxx.namespace("factionos::schema");

interface OutputSink {
  write @0 (bytes :Data) -> stream;
  # At most 64 KiB a call. The broker always drains; it withholds and counts rather than block.
  end @1 (totalBytes :UInt64) -> ();
  # The master is drained: nothing more will come.
}

interface Terminal {
  input @0 (data :Data) -> (denial :Common.Denial);
  # Answers when the kernel has taken all of it, or denial "line_too_long" (line mode would drop bytes; nothing was written),
  # "input_full" (the program doesn't read; how much was written is in the target label as a number), "ended".
  resize @1 (cols :UInt16, rows :UInt16) -> (denial :Common.Denial);
}

interface Pty {
  attach @0 (master :Common.Descriptor, sink :OutputSink) -> (terminal :Terminal, denial :Common.Denial);
  # Once. A worker may wait ready, already sandboxed, before it is attached.
}
