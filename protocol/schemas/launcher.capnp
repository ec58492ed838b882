# Between the broker and the launcher, one socketpair. The broker calls; the launcher serves. Dropping a Worker or a Session ends
# the process behind it and everything below it. End of file on this line: the launcher ends all that it started and exits.

@0xdb57b47260d5aa91;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Session = import "session.capnp";
using Container = import "container.capnp";
$Cxx.namespace("factionos::schema");

enum Role { unspecified @0; front @1; pty @2; session @3; git @4; file @5; container @6; probe @7; }
# The launcher's fixed table has one row for each role that this build has; any other answer is denied "role_unknown".

struct WorkerScope {
  # What the worker may touch. Opened and checked by the launcher at each start, by descriptor.
  union {
    none @0 :Void;
    workspace @1 :Text;
    # Absolute path, no symbolic link at its end; refused as SPEC says when it is, contains or lies in the home, / and the like.
    repository @2 :RepositoryScope;
  }
}

struct RepositoryScope {
  workspace @0 :Text;
  # As above: the working tree.
  roots @1 :List(Text);
  # Where else the repository's own directories may lie, and a local remote: other workspaces, at most 32. One that is refused is left out.
  access @2 :RepositoryAccess;
}

struct EngineSocket {
  engine @0 :Container.EngineKind;
  path @1 :Text;
  # Of the socket file; absolute. It must belong to root or to the broker's own user.
}

enum RepositoryAccess {
  read @0;   # nothing can be written
  write @1;  # the repository can
  push @2;   # and so can its remotes that lie within the roots
}

struct WorkerExit {
  union {
    code @0 :UInt8;
    signal @1 :UInt8;
  }
  syscall @2 :Int32 = -1;
  # The call that the worker's filter refused, as far as the worker's event record or the kernel tells; -1: none.
  brokeEvents @3 :Bool;
  # The launcher ended it for what it wrote on its event pipe: no record, or more of them than a worker has to say.
}

struct Mountable {
  uid @0 :UInt32;
  gid @1 :UInt32;
  # Of the directory.
}

interface Worker {
  kill @0 () -> ();
  # SIGKILL; answers when the process has been reaped.
  exited @1 () -> (exit :WorkerExit);
  # Waits. Cancelled when dropped.
  end @2 () -> (exit :WorkerExit, lived :Bool);
  # For one whose line has ended: ends it if that is all that has ended, and answers when it has been reaped. `lived`: it took a
  # stop signal, which a process that is exiting or has been killed no longer does, however long the machine takes to let it go.
}

interface Launcher {
  start @0 (role :Role, scope :WorkerScope, line :Common.Descriptor) -> (worker :Worker, denial :Common.Denial);
  # The worker gets `line` as descriptor 3, an event pipe as descriptor 4 and the directories of its scope from descriptor 5 on, nothing else.

  startSession @1 (scope :WorkerScope) -> (session :Session.Session, worker :Worker, denial :Common.Denial);
  # The launcher makes the line to the session itself and hands out the session's capability.

  support @2 () -> (support :Session.KernelSupport);
  # What this kernel has, asked by system calls in throw-away children.

  setEngines @3 (engines :List(EngineSocket), appleProgram :Text) -> (denial :Common.Denial);
  # Once, at most one of a kind, and before anything else was started: from then on the paths are fixed. Denied "engines_fixed" after that,
  # "engine_invalid" for a path that is not absolute or too long (of a socket; of the program: 4095 bytes). Whether something listens there is
  # not looked at. `appleProgram`: what the role `probe` starts, empty for none; start() of that role takes the scope `none`, opens this path and
  # refuses it as "program_unknown" (none was named), "program_missing" or "program_untrusted" (not a regular file that may be executed, of
  # root or of the broker's user, that nobody else can write).

  engine @4 (engine :Container.EngineKind) -> (connector :Container.EngineConnector, denial :Common.Denial);
  # Connects to that engine's socket and to nothing else. Denied "engine_unknown" where setEngines() named none. For the container worker: start() it
  # with the scope `none`, then hand it this (Container.open()).

  look @5 (role :Container.MountRole, path :Text) -> (found :Mountable, denial :Common.Denial);
  # What a container is to mount, opened and judged as the scope of a worker is: a workspace by the rules of workspaces, what is read alone by those of
  # readable directories. Starts nothing.
}
