# What the broker asks the probe: a worker that starts one program, asks it one question and says in fixed words what came of it. It is for
# container runtimes that have no socket to ask (Apple's `container`). Which program is the operator's word alone: the launcher opens it, and
# the worker has it as a descriptor. What the program prints reaches nobody.

@0xb7c52d90f4a1836e;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("factionos::schema");

enum ProbeState {
  unspecified @0;
  answered @1;       # it told its version
  notUnderstood @2;  # it ended with 0 and printed something else, or more than 64 KiB
  timedOut @3;       # it had not ended by the deadline, and was killed
  failed @4;         # it ended with another status, or by a signal
  notStarted @5;     # the kernel would not start it
}

struct ProbeAnswer {
  state @0 :ProbeState;
  version @1 :Text;
  # answered: of the program, matching [0-9]{1,4}(\.[0-9]{1,4}){1,3}.
  serviceAnswers @2 :Bool;
  # answered: whether the runtime's own service is up, as the program says.
}

interface RuntimeProbe {
  ask @0 (deadlineMs :UInt32) -> (answer :ProbeAnswer);
  # Starts `PROGRAM system version --format json`; 10 to 10000 ms. It and all below it are gone when this answers. One call at a time: another
  # waits. Never fails but for a deadline out of its range.
}
