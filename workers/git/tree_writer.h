// Files of a working tree, read and written by descriptor: nothing is ever followed, so nothing lands
// outside.
#pragma once

#include <string>
#include <utility>

#include <git2.h>

#include "sandbox/descriptors.h"
#include "workers/git/change_set.h"
#include "workers/git/handles.h"
#include "workers/git/replacing.h"

namespace factionos::git {

class TreeWriter {
 public:
  // `directory`: of the working tree, borrowed. `mark`: the action that put() is done for; what it has half
  // written has a name that begins with it.
  TreeWriter(git_repository* repository, int directory, std::string mark = {})
      : repository_(repository), directory_(directory), mark_(std::move(mark)) {}

  // What lies at a path: absent, a regular file or a symbolic link that a write would replace, a directory,
  // or in the way. Throws Refusal where a parent is a symbolic link.
  enum class There { kNothing, kFile, kDirectory, kInTheWay };
  [[nodiscard]] There at(const std::string& path) const;

  // Whether a directory above it is a symbolic link: whatever lies there, it is not at this path.
  [[nodiscard]] bool isBehindLink(const std::string& path) const;

  // Whether there is anything, and no symbolic link on the way.
  [[nodiscard]] bool isThere(const std::string& path) const;

  // A file as it is before it is judged, and what it was judged to be: nothing else is replaced or removed.
  struct Judged {
    FileState state;
    Stamp stamp;
  };
  [[nodiscard]] Stamp stampOf(const std::string& path) const;
  // Throws Refusal "would_overwrite", "edited" where it is something else by now.
  void mustStillBe(const std::string& path, const Judged& judged) const;

  // The blob as git would check it out, put in place at once; of a submodule an empty directory. Directories
  // are made as they are needed. One at its place goes with those in it, as far as they hold no file and none
  // has a protected name; what does stays, and then this throws Refusal: so does a file that has come there.
  void put(const std::string& path, const FileState& state) const;
  // The same over a file; refused as replacing.h has it.
  void putOver(const std::string& path, const FileState& state, const Judged& judged) const;
  // With directories that it leaves empty.
  void remove(const std::string& path, const Judged& judged) const;
  // A submodule's directory, and those that it leaves empty, where it is empty itself.
  void removeDirectories(const std::string& path) const;

  // Removes what a put() beside this path left that was cut off.
  void tidy(const std::string& path) const;
  // What a putOver() or remove() has taken away that was cut off gets its name back, unless that has a file
  // by now: then it goes if it is one of `edit`, and stays where it is if somebody has edited it.
  void giveBack(const FileEdit& edit) const;

  // The file as a blob in the object database, or what its name and mode would be with kDry. Mode 0: it is
  // not there. Throws Refusal where a parent is a symbolic link, where it is neither file nor link, or a
  // filter program would be asked.
  enum class Store { kDry, kWrite };
  [[nodiscard]] FileState take(const std::string& path, Store store) const;

  // The same with kDry of what is compared and not stored: where a directory is in its place, or no directory
  // above it, it is not there.
  [[nodiscard]] FileState now(const std::string& path) const;

  // What take() would store of it; empty where it is not there.
  [[nodiscard]] std::string cleanContent(const std::string& path) const;

  // An index entry with the times and numbers of the file, if it is there.
  void describe(const std::string& path, const FileState& state, git_index_entry& entry) const;

 private:
  // The mode, 0 if it is not there, and the content as it is stored; of `name` in `parent` as if it were at
  // `path`.
  std::uint32_t read(const std::string& path, std::string& content) const;
  std::uint32_t readAt(int parent, const std::string& name, const std::string& path,
                       std::string& content) const;
  // With kDry; mode 0 where it can't be told.
  [[nodiscard]] FileState stateAt(int parent, const std::string& name, const std::string& path) const;
  [[nodiscard]] KnownFile knownFile(const std::string& path, const Judged& judged) const;
  // What is taken away has this name for a moment, beside its own: by the path, so that it is found again.
  [[nodiscard]] std::string asideOf(const std::string& path) const;
  // Empty with errno; ELOOP: behind a symbolic link.
  [[nodiscard]] sandbox::Fd openParent(const std::string& path, std::string& name) const;
  // The same, but throws Refusal where it lies behind a symbolic link.
  [[nodiscard]] sandbox::Fd parentOf(const std::string& path, std::string& name) const;
  void makeParents(const std::string& path) const;
  void removeEmpty(int parent, const std::string& name, const std::string& path) const;

  // Written beside its place, then given to `place` with its directory, the name that it has there, and its
  // own.
  template <typename Place>
  void writeFor(const std::string& path, const FileState& state, Place place) const;
  void write(const std::string& path, const Blob& blob, std::uint32_t mode, int parent,
             const std::string& temporary) const;

  git_repository* repository_;
  int directory_;
  std::string mark_;
};

}  // namespace factionos::git
