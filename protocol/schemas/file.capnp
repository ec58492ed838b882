# Between the broker and one file worker, one socketpair. The broker calls; the worker serves one workspace and sees nothing else. Paths and
# contents are raw bytes, request-scoped. What the worker answers is hostile input to the broker.

@0xc4d6d1e05a3bf2a7;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
$Cxx.namespace("factionos::schema");

enum NodeKind { unspecified @0; absent @1; file @2; directory @3; symlink @4; other @5; }
# other: a FIFO, a socket, a device.

struct FileState {
  # What is found at a path, symbolic links on the way not followed where it is to be changed.
  kind @0 :NodeKind;
  size @1 :UInt64;
  mode @2 :UInt16;
  # Permission bits.
  modifiedMs @3 :Int64;
  # Since 1970 UTC.
  links @4 :UInt32;
  # Hard links of a file.
  attributes @5 :UInt16;
  # Extended attributes, access lists among them.
  sha @6 :Data;
  # BLAKE2b-256 of the content; null for what is no file or too large to be hashed.
}

struct NodeEntry {
  name @0 :Data;
  # One component: neither '/' nor NUL.
  kind @1 :NodeKind;
  size @2 :UInt64;
  modifiedMs @3 :Int64;
}

struct KeptEntry {
  # A copy that was made before a file was changed or deleted.
  action @0 :Text;
  # Id of the action that made it.
  operation @1 :Text;
  # Label.
  path @2 :Data;
  size @3 :UInt64;
  keptMs @4 :Int64;
  absent @5 :Bool;
  # There was no file before: bringing that back removes it.
}

struct FileChange {
  path @0 :Data;
  # Relative to the workspace.
  union {
    write :group {
      content @1 :Data;
      parents @2 :Bool;
      # Make the directories that are missing on the way.
    }
    edit :group {
      oldText @3 :Data;
      newText @4 :Data;
      everywhere @5 :Bool;
      # Else oldText must be there exactly once.
    }
    delete @6 :Void;
    restore @7 :Text;
    # Id of the action whose copy is brought back; empty: the newest of this path.
  }
}

struct FilePreview {
  before @0 :FileState;
  after @1 :FileState;
  # Kind, size and sha alone.
  hunks @2 :UInt32;
  insertions @3 :UInt32;
  deletions @4 :UInt32;
  # Lines. Nothing where `binary`.
  binary @5 :Bool;
  text @6 :Data;
  # Unified diff, at most as many bytes as were asked for.
  droppedBytes @7 :UInt64;
  entry @8 :Text;
  # restore: the id of the action whose copy it is.
}

enum Settled { unspecified @0; happened @1; didNotHappen @2; cantTell @3; }

interface FileWorker {
  stat @0 (path :Data) -> (state :FileState, denial :Common.Denial);
  list @1 (path :Data, after :Data, limit :UInt16) -> (entries :List(NodeEntry), more :Bool, denial :Common.Denial);
  # By name, in byte order, those greater than `after`. At most 1000.
  read @2 (path :Data, offset :UInt64, length :UInt32) -> (content :Data, state :FileState, denial :Common.Denial);
  # At most 1 MiB. Follows symbolic links as long as they stay within the workspace. Shorter at the end of the file.

  preview @3 (change :FileChange, textBytes :UInt32) -> (preview :FilePreview, denial :Common.Denial);
  # Changes nothing. The path and everything on the way to it must be no symbolic link.
  apply @4 (change :FileChange, action :Text, operation :Text, before :FileState) -> (after :FileState, denial :Common.Denial);
  # Once for an action. `before`: kind and sha as preview() told; denied "changed" if the file is not that any more.

  settle @5 (action :Text) -> (found :Settled, denial :Common.Denial);
  # Whether apply() of this action took effect; mends what a crash left of it.
  kept @6 (path :Data, after :Text, limit :UInt16) -> (entries :List(KeptEntry), more :Bool, totalBytes :UInt64, denial :Common.Denial);
  # Newest first, those older than `after`. An empty path: of the whole workspace. At most 1000.
}
