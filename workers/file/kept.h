// The copies that are made before a file is changed or deleted: what `restore` brings back, and what tells
// after a crash how far a change came.
//
//   .factionos/            at the top of the workspace, 0700, ignored by git
//     kept/ACTION/record   what was going to happen: written whole before anything else is
//                 content  the file as it was, where there was one
//                 ready    from here on the change may have happened
//                 done     it has
//
// They lie in the workspace: on the same file system, within the one wall that the worker has, and not in the
// broker's home, which holds nothing raw. A command in the same workspace could read what it could read
// before; docs/threat-model.md says what it could do to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workers/file/content.h"
#include "workers/file/denied.h"

namespace factionos::file {

struct KeptBounds {
  std::size_t entries = 256;
  std::uint64_t bytes = std::uint64_t{256} << 20;
  std::int64_t ageMs = std::int64_t{7} * 24 * 60 * 60 * 1000;
};

// An id of the broker's; what sorts last is newest.
bool isAction(std::string_view text);
// Of those that change a file.
bool isOperation(std::string_view text);

// Of the new content, and of what a change displaces, beside the file itself. Nobody can know it before it is
// there, and so nobody can be there first.
std::string newTemporary();
bool isTemporary(std::string_view name);

struct KeptRecord {
  std::string action;
  std::string operation;
  std::string path;           // plain
  std::string temporary;      // beside it
  std::optional<Sha> before;  // nothing: there was no file
  std::optional<Sha> after;   // nothing: there is to be none
  std::uint64_t inode = 0;    // of the file before
  std::uint64_t size = 0;     // of the file before
  std::uint32_t mode = 0;     // its permission bits
  std::int64_t keptMs = 0;    // since 1970 UTC
};
// They lie where others may write: whoever is told of a record proves it by what the broker remembers of its
// action.

enum class Phase { kBegun, kReady, kDone };

struct KeptCopy {
  KeptRecord record;
  Phase phase = Phase::kBegun;
};

class Kept {
 public:
  explicit Kept(int workspace, KeptBounds bounds = {}) : workspace_(workspace), bounds_(bounds) {}

  // Makes the entry, durably. Denied kTwice for an action that has one.
  std::optional<Denied> begin(const KeptRecord& record);
  std::optional<Denied> keepContent(const std::string& action, int file);
  std::optional<Denied> mark(const std::string& action, Phase phase);
  void remove(const std::string& action);

  [[nodiscard]] std::optional<KeptCopy> find(const std::string& action) const;
  // Open for reading; empty where there is none.
  [[nodiscard]] sandbox::Fd content(const std::string& action) const;
  struct Records {
    std::vector<KeptRecord> records;
    std::uint32_t skipped = 0;  // looked at, and none of ours
  };
  // Of changes that have happened, newest first, older than `before` (empty: from the newest), of `path`
  // (empty: of any).
  [[nodiscard]] Records list(std::string_view path, std::string_view before, std::size_t most) const;
  [[nodiscard]] std::uint64_t totalBytes() const;

  // Drops the oldest beyond the bounds above, never `current`.
  void trim(const std::string& current, std::int64_t nowMs);

 private:
  [[nodiscard]] sandbox::Fd folder() const;  // of all entries; empty where there is none
  Or<sandbox::Fd> makeFolder();
  [[nodiscard]] sandbox::Fd entry(const std::string& action) const;
  struct Names {
    std::vector<std::string> actions;  // newest first
    std::uint32_t others = 0;
  };
  [[nodiscard]] Names names() const;

  int workspace_;
  KeptBounds bounds_;
};

// What is written on disk, and read back: nothing for a text that is no record.
std::string encode(const KeptRecord& record);
std::optional<KeptRecord> decode(std::string_view text);

}  // namespace factionos::file
