// What `info/sparse-checkout` leaves out of a working tree, where that can be told.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace factionos::git {

// The patterns of a cone, as git writes them: directories with all that is in them, and those on the way to
// them with their own files alone. Pure.
class Cone {
 public:
  // Nothing where the text is anything else: the language of .gitignore is not read here.
  static std::optional<Cone> of(std::string_view text);

  // Whether a file of this path is checked out.
  [[nodiscard]] bool holds(std::string_view path) const;

 private:
  bool add(std::string_view line);

  std::set<std::string, std::less<>> whole_;
  std::set<std::string, std::less<>> onTheWay_;
};

}  // namespace factionos::git
