// Files of a working tree, read and written by descriptor: nothing is ever followed, so nothing lands
// outside.
#pragma once

#include <string>
#include <utility>

#include <git2.h>

#include "sandbox/descriptors.h"
#include "workers/git/change_set.h"
#include "workers/git/handles.h"

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

  // Whether there is anything, and no symbolic link on the way.
  [[nodiscard]] bool isThere(const std::string& path) const;

  // The blob as git would check it out, put in place at once; of a submodule an empty directory. Directories
  // are made as they are needed. One at its place goes with those in it, as far as they hold no file; what
  // does stays, and then this throws Refusal: so does a file, where there was none.
  enum class Over { kNothing, kFile };
  void put(const std::string& path, const FileState& state, Over over) const;
  // Removes what a put() beside this path left that was cut off.
  void tidy(const std::string& path) const;
  // With directories that it leaves empty. A directory (a submodule's) only where it is empty itself.
  void remove(const std::string& path) const;

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
  // The mode, 0 if it is not there, and the content as it is stored.
  std::uint32_t read(const std::string& path, std::string& content) const;
  // Empty with errno; ELOOP: behind a symbolic link.
  [[nodiscard]] sandbox::Fd openParent(const std::string& path, std::string& name) const;
  // The same, but throws Refusal where it lies behind a symbolic link.
  [[nodiscard]] sandbox::Fd parentOf(const std::string& path, std::string& name) const;
  void makeParents(const std::string& path) const;

  void write(const std::string& path, const Blob& blob, std::uint32_t mode, int parent,
             const std::string& temporary) const;

  git_repository* repository_;
  int directory_;
  std::string mark_;
};

}  // namespace factionos::git
