# Between the launcher and one session supervisor, one socketpair; the broker holds the capability through the launcher. The session is trusted
# code: it resolves, hashes and starts one command and kills its tree. Dropping the capability, or end of file on the line, kills the tree.

@0xa3f4919af1bf3e10;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
$Cxx.namespace("factionos::schema");

struct KernelSupport {
  landlockAbi @0 :UInt32;
  # 0: no Landlock.
  seccomp @1 :Bool;
  userNotification @2 :Bool;
  userNamespaces @3 :Bool;
  pidNamespace @4 :Bool;
  mountNamespace @5 :Bool;
  networkNamespace @6 :Bool;
  pty @7 :Bool;
  cgroup @8 :Bool;
  # A delegated cgroup v2.
  reasons @9 :List(Text);
}

struct CommandSpec {
  # Request-scoped: lives in memory alone, is never logged and never echoed.
  argv @0 :List(Text);
  # Exactly one of argv and shell. No element holds NUL.
  shell @1 :Text;
  network @2 :Common.NetworkProfile;
  programPaths @3 :List(Text);
  # Directories beyond the built-in ones that the session profile lists: read and execute. Absolute; one that is not there is passed over.
  environment @4 :List(Text);
  # "NAME=value" that the profile adds to the built-in allowlist (LANG, LC_*, TERM, TZ, PATH, HOME, USER, SHELL, TMPDIR are set by the session).
  scratch @5 :Text;
  # An existing directory, 0700, in which the session makes and removes its own temporary directory.
  apiPort @6 :UInt16;
  # Denied to the network profile full as far as the kernel can; 0: none.
  hasMountNamespace @7 :Bool = true;
  # false forces the story without namespaces, for tests and for operators who ask for it in config.toml.
  readPaths @8 :List(Text);
  # As programPaths: read, and execute nothing.
}

struct Digest {
  label @0 :Text;
  # "program", "interpreter", "operand:1" …
  sha @1 :Data;
  # BLAKE2b-256 of the file's content, of the very descriptor that will be executed.
}

struct Prepared {
  program @0 :Text;
  # The resolved real path of the program in a system or profile directory. Never leaves the broker's memory but as a label. "workspace" when the
  # program lies inside of the workspace, "sh" for a shell line.
  programLabel @1 :Text;
  # The file's own name when it is a label, else "program".
  digests @2 :List(Digest);
  interactive @3 :Bool;
  # Known to read commands from its terminal (shells, interpreters without a script).
}

struct Window { cols @0 :UInt16; rows @1 :UInt16; }

struct Limits {
  # 0 is the built-in default.
  processes @0 :UInt32;
  memoryBytes @1 :UInt64;
  openFiles @2 :UInt32;
  cpuSeconds @3 :UInt32;
  fileBytes @4 :UInt64;
}

struct Usage {
  cpuMs @0 :UInt64;
  maxRssBytes @1 :UInt64;
  peakProcesses @2 :UInt32;
}

enum EndReason { unspecified @0; exited @1; killed @2; limitProcesses @3; limitMemory @4; limitCpu @5; lost @6; approvalDrift @7; }
# approvalDrift: a script was replaced or changed while its interpreter was about to read it; it may have run until the tree was killed.

interface Session {
  prepare @0 (command :CommandSpec) -> (prepared :Prepared, denial :Common.Denial);
  # Resolves, opens and hashes; starts nothing. At most one command per session.

  start @1 (window :Window, limits :Limits) -> (master :Common.Descriptor, posture :List(Text), denial :Common.Denial);
  # Runs what was prepared: opens the PTY pair, builds the sandbox and executes the hashed descriptor. Answers when exec has succeeded
  # in the child, or with the step that failed. Once only.

  exited @2 () -> (exit :Common.Exit, reason :EndReason, usage :Usage, denials :List(Common.DenialCount));
  # `denials`: all, of the whole tree. Answers when the whole tree is gone, leader first. The master may still hold output.

  signal @3 (number :UInt8) -> (denial :Common.Denial);
  # To the process group of the leader.

  kill @4 () -> ();
  # SIGKILL to the whole tree; answers when nothing of it is left.

  denials @5 () -> (denials :List(Common.DenialCount));
  # Answers when something was denied since the last answer, a quarter of a second later, with all that was so far. One call at a time.
}

interface Supervisor {
  # What a session supervisor offers on its line: it is started before anybody knows what for.

  open @0 (workspace :Common.Descriptor) -> (session :Session);
  # The one session of this process, in this directory (O_PATH, judged by the launcher). A second call fails.
}
