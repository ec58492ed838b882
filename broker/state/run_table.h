#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/state/database.h"

namespace factionos::state {

// What is kept of a container beside its action: which engine had it, and whether anything of it is left. No
// output, no argument, no path.
struct RunRow {
  std::string actionId{};  // the run's own id is runIdOf() it
  Code runtime;            // docker, podman, …
  Code cleanup;            // pending, removed, left
  std::uint64_t lines = 0;
  Time started{};
  std::optional<Time> ended{};
};

class RunTable {
 public:
  explicit RunTable(Database& database) : database_(database) {}

  void insert(const RunRow& row);
  bool update(const RunRow& row);
  std::optional<RunRow> find(std::string_view actionId);
  // That nobody has seen the end of, or of which something may be left, oldest first.
  std::vector<RunRow> unfinished(std::size_t limit);

 private:
  Database& database_;
};

}  // namespace factionos::state
