#include "broker/state/session_table.h"

namespace factionos::state {
namespace {

#define FACTIONOS_SESSION_COLUMNS \
  "id, action_id, state, bytes_in, bytes_out, dropped_bytes, lines, denials, started, ended"

SessionRow read(Statement& row) {
  return SessionRow{.id = row.text(),
                    .actionId = row.text(),
                    .state = row.code(),
                    .bytesIn = row.unsignedInteger(),
                    .bytesOut = row.unsignedInteger(),
                    .droppedBytes = row.unsignedInteger(),
                    .lines = row.unsignedInteger(),
                    .denials = row.unsignedInteger(),
                    .started = row.time(),
                    .ended = row.optional(&Statement::time)};
}

std::vector<SessionRow> readAll(Statement& select) {
  std::vector<SessionRow> rows;
  while (select.step()) rows.push_back(read(select));
  return rows;
}

}  // namespace

void SessionTable::insert(const SessionRow& row) {
  Statement insert(database_, "INSERT INTO sessions (" FACTIONOS_SESSION_COLUMNS
                              ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(row.id).bind(row.actionId).bind(row.state).bind(row.bytesIn).bind(row.bytesOut);
  insert.bind(row.droppedBytes).bind(row.lines).bind(row.denials).bind(row.started).bind(row.ended).run();
}

bool SessionTable::update(const SessionRow& row) {
  Statement update(
      database_,
      "UPDATE sessions SET state = ?, bytes_in = ?, bytes_out = ?, dropped_bytes = ?, lines = ?, "
      "denials = ?, ended = ? WHERE id = ?");
  update.bind(row.state).bind(row.bytesIn).bind(row.bytesOut).bind(row.droppedBytes).bind(row.lines);
  return update.bind(row.denials).bind(row.ended).bind(row.id).run() == 1;
}

std::optional<SessionRow> SessionTable::find(std::string_view id) {
  Statement select(database_, "SELECT " FACTIONOS_SESSION_COLUMNS " FROM sessions WHERE id = ?");
  select.bind(id);
  if (!select.step()) return std::nullopt;
  return read(select);
}

std::vector<SessionRow> SessionTable::list(std::string_view before, std::size_t limit) {
  Statement select(database_, "SELECT " FACTIONOS_SESSION_COLUMNS
                              " FROM sessions WHERE ?1 = '' OR id < ?1 ORDER BY id DESC LIMIT ?2");
  select.bind(before).bind(std::uint64_t{limit});
  return readAll(select);
}

std::vector<SessionRow> SessionTable::unfinished() {
  Statement select(database_,
                   "SELECT " FACTIONOS_SESSION_COLUMNS " FROM sessions WHERE ended IS NULL ORDER BY id");
  return readAll(select);
}

}  // namespace factionos::state
