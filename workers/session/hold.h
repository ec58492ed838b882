// That what was hashed is still what it was: immediately before the start, and a little after it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workers/session/digest.h"
#include "workers/session/prepare.h"

namespace factionos::session {

// Immediately before the start: puts every file that others could change under a read lease, so that its
// content stays what it is until the lease goes, and hashes it once more. What is executed or read by its
// descriptor and can take no lease (it is another user's) is replaced by a private copy of what was hashed.
// Denied "approval_drift" if a file is not what it was, or is open for writing. Of other files that can take
// no lease the change time alone tells, to the resolution of the file system.
std::optional<Denied> hold(Prepared& prepared);

// A file that the command opens by its path: a lease does not keep others from putting another there.
struct NamedFile {
  std::string path;  // relative to the workspace
  FileState state;
  std::vector<FileIdentity> directories;  // that its text names on the way, from the workspace down
};

// Of what hold() has held, the operands.
std::vector<NamedFile> namedFiles(int workspace, const Prepared& prepared);

// Whether the path still leads to the same file over the same directories, and nobody has renamed, linked or
// written it since: each of these sets its change time. Needs no right but to search the directories.
bool isUnchanged(int workspace, const NamedFile& file);

}  // namespace factionos::session
