# The file family: what its REST routes take and give, and what the broker and one file worker say to each other over one socketpair. The
# broker calls; the worker serves one workspace and sees nothing else. Paths and contents are raw bytes, request-scoped. What the worker
# answers is hostile input to the broker.

@0xc4d6d1e05a3bf2a7;

using Cxx = import "/capnp/c++.capnp";
using Http = import "http.capnp";
using Common = import "common.capnp";
using Approval = Common.Approval;
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
  keptMs @3 :Int64;
  state @4 :FileState;
  # What was kept: kind, size, mode and sha. Absent: bringing that back removes the file.
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
  # Kind, size, mode and sha alone.
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
  kept @9 :FileState;
  # restore: what was kept: kind, size, mode and sha.
}

enum Settled { unspecified @0; happened @1; didNotHappen @2; cantTell @3; }

interface FileWorker {
  stat @0 (path :Data) -> (state :FileState, denial :Common.Denial);
  list @1 (path :Data, after :Data, limit :UInt16) -> (entries :List(NodeEntry), more :Bool, denial :Common.Denial);
  # By name, in byte order, those greater than `after`. At most 1000.
  read @2 (path :Data, offset :UInt64, length :UInt32) -> (content :Data, state :FileState, denial :Common.Denial);
  # At most 1 MiB and 128 KiB. Follows symbolic links as long as they stay within the workspace. Shorter at the end of the file.

  preview @3 (change :FileChange, textBytes :UInt32) -> (preview :FilePreview, denial :Common.Denial);
  # Changes nothing. The path and everything on the way to it must be no symbolic link.
  apply @4 (change :FileChange, action :Text, operation :Text, before :FileState, after :FileState) -> (after :FileState, denial :Common.Denial);
  # Once for an action. `before` and `after`: kind, mode and sha as preview() told; denied "changed" if the file is not that any more, or
  # would not become that.

  settle @5 (action :Text) -> (found :Settled, denial :Common.Denial);
  # Whether apply() of this action took effect; mends what a crash left of it.
  kept @6 (path :Data, after :Text, limit :UInt16) -> (entries :List(KeptEntry), more :Bool, totalBytes :UInt64, denial :Common.Denial, skipped :UInt32);
  # Newest first, those older than `after`. An empty path: of the whole workspace. At most 1000. Skipped: what lies there and is no record.
}

# ------------------------------------------------------------------------------------------------ REST routes

enum FileKind { unspecified @0; absent @1; file @2; directory @3; symlink @4; other @5; }

enum FileEncoding { text @0; base64 @1; }

struct FileFacts {
  kind @0 :FileKind;
  size @1 :UInt64;
  mode @2 :Text;
  # "0644"
  modifiedAt @3 :Int64 $Http.time;
  links @4 :UInt32 $Http.omitZero;
  # Hard links: a change replaces this name of them alone.
  attributes @5 :UInt16 $Http.omitZero;
  # Extended attributes, access lists among them.
  digest @6 :Text;
  # Names the content without telling it: for expectedDigest, at this broker.
}

struct FileEntry {
  name @0 :Text;
  # Masked, controls shown as escapes.
  nameBase64 @1 :Text;
  # Where `name` is not the name byte for byte: for pathBase64.
  kind @2 :FileKind;
  size @3 :UInt64;
  modifiedAt @4 :Int64 $Http.time;
  entry @5 :Text;
  # Of a kept copy: the id of the action that made it.
  operation @6 :Text;
  absent @7 :Bool $Http.omitZero;
  # Of a kept copy: there was no file before; to restore it is to remove the file.
}

struct FileContent {
  text @0 :Text;
  # UTF-8, secrets masked, controls but tab and newline shown as escapes; nothing with the encoding base64.
  base64 @1 :Text;
  # The bytes, secrets masked.
  offset @2 :UInt64;
  bytes @3 :UInt32;
  # Of the file that this stands for.
  exact @4 :Bool;
  # Nothing was masked or escaped: it is what the file holds.
  end @5 :Bool;
  # The file ends here.
}

struct FileChanges {
  hunks @0 :UInt32;
  insertions @1 :UInt32;
  deletions @2 :UInt32;
  # Lines.
  binary @3 :Bool;
  # Nothing was counted: one of the two is no text, or too large.
  text @4 :Text;
  # Unified, masked. In the detail alone.
  droppedBytes @5 :UInt64 $Http.omitZero;
  before @6 :FileFacts;
  after @7 :FileFacts;
  entry @8 :Text;
  # Of a restoration: whose copy it is.
}

struct FileList {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two or, for the workspace itself or all of its kept copies, none.
  after @3 :Text $Http.text(max = 400);
  # `next` of the page before.
  limit @4 :UInt16 = 200 $Http.range(min = 1, max = 1000);
  kept @5 :Bool;
  # The copies that are kept of what was changed or deleted, newest first, in place of what is there.
}

struct FileStat {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
}

struct FileRead {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  offset @3 :UInt64 $Http.range(min = 0, max = 9007199254740991);
  length @4 :UInt32 = 65536 $Http.range(min = 1, max = 1048576);
  encoding @5 :FileEncoding;
}

struct FileWrite {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  content @3 :Text $Http.text(max = 1048576);
  contentBase64 @4 :Text $Http.text(max = 1398104);
  # Exactly one of the two.
  expectedDigest @5 :Text $Http.text(min = 1, max = 64);
  # Of what is replaced, as a reply told it. Needed where the file exists; without it the file must not exist.
  makeParents @6 :Bool;
  approval @7 :Approval;
  # Not part of the request's digest.
}

struct FileEdit {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  oldText @3 :Text $Http.required $Http.text(min = 1, max = 262144);
  newText @4 :Text $Http.text(max = 262144);
  replaceAll @5 :Bool;
  # Else oldText must be there exactly once.
  expectedDigest @6 :Text $Http.text(min = 1, max = 64);
  approval @7 :Approval;
}

struct FileDelete {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  expectedDigest @3 :Text $Http.text(min = 1, max = 64);
  approval @4 :Approval;
}

struct FileRestore {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  entry @3 :Text $Http.text(min = 30, max = 40);
  # Id of the action whose copy is brought back. Absent: the newest of this path.
  approval @4 :Approval;
}

struct FileDiff {
  workspace @0 :Text $Http.required $Http.text(min = 1, max = 64);
  path @1 :Text $Http.text(min = 1, max = 4095);
  pathBase64 @2 :Text $Http.text(min = 1, max = 5460);
  # Relative to the workspace, "a/b/c"; as base64 where a name is no UTF-8. Exactly one of the two.
  content @3 :Text $Http.text(max = 1048576);
  contentBase64 @4 :Text $Http.text(max = 1398104);
  oldText @5 :Text $Http.text(min = 1, max = 262144);
  newText @6 :Text $Http.text(max = 262144);
  replaceAll @7 :Bool;
  entry @8 :Text $Http.text(min = 30, max = 40);
  # What a write of the content, an edit or, with none of these, a restoration would change.
  detail @9 :Bool;
  # The lines themselves, masked, beside the counts.
}
