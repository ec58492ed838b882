// One change of one file: what it would make of it, and the making of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "workers/file/content.h"
#include "workers/file/kept.h"
#include "workers/file/line_diff.h"
#include "workers/file/place.h"

namespace factionos::file {

enum class Kind : std::uint8_t { kAbsent, kFile, kDirectory, kSymlink, kOther };

// Two are the same file for whoever approved one of them.
struct FileState {
  Kind kind = Kind::kAbsent;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;  // permission bits
  std::int64_t modifiedMs = 0;
  std::uint32_t links = 0;
  unsigned attributes = 0;
  std::optional<Sha> sha;  // of a file that is not too large
  [[nodiscard]] bool isAs(const FileState& other) const {
    return kind == other.kind && sha == other.sha && mode == other.mode;
  }
};
FileState stateOf(const struct stat& status);
// Of the file before, as the record has it.
FileState keptState(const KeptRecord& record);

struct Write {
  std::string_view content;
  Parents parents = Parents::kMustExist;
};
struct Edit {
  std::string_view oldText;
  std::string_view newText;
  bool everywhere = false;
};
struct Delete {};
struct Restore {
  std::string action;  // empty: the newest copy of the path
};
struct Change {
  std::string path;
  std::variant<Write, Edit, Delete, Restore> what;
};

// Reconciliation's answer.
enum class Landed { kYes, kNo, kCantTell };

class Changer {
 public:
  using NewName = std::string (*)();
  explicit Changer(int workspace, KeptBounds bounds = {}, NewName newName = newTemporary)
      : workspace_(workspace), kept_(workspace, bounds), newName_(newName) {}

  struct Preview {
    FileState before;
    FileState after;
    LineDiff diff;
    std::string entry;  // of a restore: whose copy it is
    FileState kept;     // of a restore: what was kept, as its record has it
  };
  // Changes nothing.
  Or<Preview> preview(const Change& change, std::size_t textBytes);

  // Makes it so, durably and whole: whoever looks sees the old content or the new, at any moment and after
  // any crash. `before` and `after`: as preview() told; anything else there, or to come, is denied kChanged,
  // looked at as late as possible. The file as it was is kept under `action` first.
  struct Approved {
    FileState before;
    FileState after;
  };
  Or<FileState> apply(const Change& change, const std::string& action, const std::string& operation,
                      const Approved& approved);

  // Whether apply() of that action took effect. Finishes or undoes what a crash left half-way.
  Landed settle(const std::string& action);

  const Kept& kept() const { return kept_; }

 private:
  struct Plan;
  Or<Plan> plan(const Change& change, Parents parents);
  std::optional<Denied> decide(const Change& change, Plan& plan);
  std::optional<Denied> edit(const Edit& edit, Plan& plan);
  std::optional<Denied> restore(const Restore& restore, const std::string& path, Plan& plan);
  std::optional<Denied> carryOut(const Plan& plan, const KeptRecord& record);
  std::optional<Denied> keep(const Plan& plan, const KeptRecord& record);
  std::optional<Denied> stage(const Plan& plan, const std::string& temporary);
  std::optional<Denied> land(const Plan& plan, const std::string& temporary);
  Landed settleReady(const KeptRecord& record);

  int workspace_;
  Kept kept_;
  NewName newName_;
};

}  // namespace factionos::file
