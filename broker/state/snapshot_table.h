#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "broker/state/database.h"

namespace factionos::state {

// By which object an action is undone. It lies where a command can write, so what it is called is remembered
// here and not there.
class SnapshotTable {
 public:
  explicit SnapshotTable(Database& database) : database_(database) {}

  void insert(std::string_view actionId, std::string_view object);
  std::optional<std::string> find(std::string_view actionId);

 private:
  Database& database_;
};

}  // namespace factionos::state
