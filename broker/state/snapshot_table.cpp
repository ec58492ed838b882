#include "broker/state/snapshot_table.h"

namespace factionos::state {

void SnapshotTable::insert(std::string_view actionId, std::string_view object) {
  Statement insert(database_, "INSERT INTO snapshots (action_id, object) VALUES (?, ?)");
  insert.bind(actionId).bind(object).run();
}

std::optional<std::string> SnapshotTable::find(std::string_view actionId) {
  Statement select(database_, "SELECT object FROM snapshots WHERE action_id = ?");
  select.bind(actionId);
  if (!select.step()) return std::nullopt;
  return select.text();
}

}  // namespace factionos::state
