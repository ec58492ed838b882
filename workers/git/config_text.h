// The text of a repository's configuration file as entries, read by nobody but this. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace factionos::git {

struct ConfigEntry {
  std::string key;  // as libgit2 names it: section and variable in lower case, the subsection as it is
  std::string value;
  bool hasValue = false;  // "bare" alone, which is true
};

// Entries in the order of the file; includes are entries like any other and are not followed. Empty where
// git would refuse the text, or where it has more than kMostConfigEntries.
std::optional<std::vector<ConfigEntry>> readConfigText(std::string_view text);

inline constexpr std::size_t kMostConfigEntries = 20'000;

// "true", "yes", "on", "1" or no value; any other number is true as well. Empty: no boolean.
std::optional<bool> asBool(const ConfigEntry& entry);

}  // namespace factionos::git
