// Judges a change of names in a workspace: may this one come to be, go, or be written to? Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "workers/session/denial_table.h"
#include "workers/session/protected_paths.h"

namespace factionos::session {

enum class Change : std::uint8_t {
  kMake,           // anything but a directory, or write to what is there
  kMakeDirectory,  // an empty one
  kBring,          // by rename or as a link: what comes may be a whole tree, with anything in it
  kShift,          // by rename, too, from where names are kept as they are here
  kLink,           // the same, and it is a symbolic link or may hold some, from where there may be any
  kRemove,         // or rename away
  kAlias,          // a second name for a file: who may write to it there changes it here
};

// How existing protected paths are kept besides; it says which errno a program is used to.
enum class Mounted : std::uint8_t { kNo, kYes };

struct Refusal {
  int error = 0;
  Denial denial;
};

// Whether `path`, relative to the workspace, is known without a list as what a submodule or linked work tree
// is configured by, or lies in that.
bool isSettingsByForm(std::string_view path);

class GuardedNames {
 public:
  // `workspace` is absolute and real.
  GuardedNames(std::string workspace, const ProtectedPaths& paths, Mounted mounted);

  // `directory` is absolute and real, `name` one name in it. Nothing: it may be.
  [[nodiscard]] std::optional<Refusal> judge(std::string_view directory, std::string_view name,
                                             Change change) const;
  // What a rename of this name is where it arrives.
  [[nodiscard]] Change bringing(std::string_view fromDirectory, std::string_view fromName) const;
  // Whether it is a .git, or lies in one.
  [[nodiscard]] bool isOfGit(std::string_view directory, std::string_view name) const;
  // What is in the workspace, and nobody can tell where.
  [[nodiscard]] static Refusal lost(Change change) { return refusal({}, change, false, false); }
  // Of an absolute real path.
  [[nodiscard]] std::optional<Refusal> judge(std::string_view path, Change change) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Entry {
    Keep keep = Keep::kWhole;
    bool mounted = false;
  };

  [[nodiscard]] std::optional<std::string> inside(std::string_view directory, std::string_view name) const;
  [[nodiscard]] std::optional<Refusal> judgeInside(std::string_view path, Change change) const;
  [[nodiscard]] static Refusal refusal(std::string_view name, Change change, bool mounted, bool itself);

  std::string workspace_;
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> names_;
};

}  // namespace factionos::session
