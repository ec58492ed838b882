// An environment built from an allowlist. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace factionos::sandbox {

struct EnvironmentPolicy {
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";  // PATH is this, whatever the caller's was
  std::vector<std::pair<std::string, std::string>>
      set;  // added last; wins; names as [A-Z_][A-Z0-9_]*, checked
};

// Takes LANG, LC_* (the names that POSIX and glibc define), TERM, COLORTERM and TZ from `current`
// ("NAME=value", such as environ) if their value passes its grammar (no file names in TZ or LANG, at most 64
// bytes), and nothing else. The result is sorted by name, without repeats. Throws std::invalid_argument for a
// bad name in `set` or a NUL in a value.
std::vector<std::string> buildEnvironment(std::span<const char* const> current,
                                          const EnvironmentPolicy& policy);

// For execve: pointers into `environment`, ended by null.
std::vector<char*> environmentPointers(std::vector<std::string>& environment);

}  // namespace factionos::sandbox
