// Loose objects, read by us. libgit2 (up to 1.8 at least) inflates one that was cut short without an end, and
// opens one that is a FIFO and waits: whoever can write to a repository could keep its worker busy.
#pragma once

#include <string>
#include <vector>

#include "sandbox/descriptors.h"
#include "workers/git/handles.h"

namespace factionos::git {

// In front of libgit2's own reader, in the same database: `directories` are its objects directory and its
// alternates. Of an object that is in a pack as well the pack's is read, by libgit2, as git has it. Writing,
// and looking a name up, stay libgit2's.
void readLooseObjects(git_repository* repository, std::vector<std::string> directories);

// While it lives objects are written without waiting for the disk, and noted: of several that nothing refers
// to yet, one wait for all is enough. For objects that are written one by one; a pack would not be noted.
class ObjectsTogether {
 public:
  // Of readLooseObjects(), and outlives this.
  explicit ObjectsTogether(git_repository* repository);
  ~ObjectsTogether();
  ObjectsTogether(const ObjectsTogether&) = delete;
  ObjectsTogether& operator=(const ObjectsTogether&) = delete;

  // What has to be made durable before the first reference: the files of what has been noted, and the folders
  // that they lie in. Of what was to be written and was there already, too: whoever wrote it may not have
  // waited, or have been cut off before. Where there are many all is durable when this returns, and none is
  // left. Throws as mustWrite() does.
  [[nodiscard]] std::vector<sandbox::Fd> waiting() const;

 private:
  git_repository* repository_;
};

}  // namespace factionos::git
