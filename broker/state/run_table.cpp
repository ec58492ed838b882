#include "broker/state/run_table.h"

namespace factionos::state {
namespace {

#define FACTIONOS_RUN_COLUMNS "action_id, runtime, cleanup, lines, started, ended"

RunRow read(Statement& row) {
  return RunRow{.actionId = row.text(),
                .runtime = row.code(),
                .cleanup = row.code(),
                .lines = row.unsignedInteger(),
                .started = row.time(),
                .ended = row.optional(&Statement::time)};
}

}  // namespace

void RunTable::insert(const RunRow& row) {
  Statement insert(database_, "INSERT INTO runs (" FACTIONOS_RUN_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?)");
  insert.bind(row.actionId).bind(row.runtime).bind(row.cleanup);
  insert.bind(row.lines).bind(row.started).bind(row.ended).run();
}

bool RunTable::update(const RunRow& row) {
  Statement update(database_,
                   "UPDATE runs SET runtime = ?, cleanup = ?, lines = ?, ended = ? WHERE action_id = ?");
  return update.bind(row.runtime)
             .bind(row.cleanup)
             .bind(row.lines)
             .bind(row.ended)
             .bind(row.actionId)
             .run() == 1;
}

std::optional<RunRow> RunTable::find(std::string_view actionId) {
  Statement select(database_, "SELECT " FACTIONOS_RUN_COLUMNS " FROM runs WHERE action_id = ?");
  select.bind(actionId);
  if (!select.step()) return std::nullopt;
  return read(select);
}

std::vector<RunRow> RunTable::unfinished(std::size_t limit) {
  Statement select(database_, "SELECT " FACTIONOS_RUN_COLUMNS
                              " FROM runs WHERE ended IS NULL OR cleanup <> 'removed' ORDER BY action_id "
                              "LIMIT ?");
  select.bind(std::uint64_t{limit});
  std::vector<RunRow> rows;
  while (select.step()) rows.push_back(read(select));
  return rows;
}

}  // namespace factionos::state
