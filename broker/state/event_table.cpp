#include "broker/state/event_table.h"

namespace factionos::state {
namespace {

EventRow readRow(Statement& row) {
  return {.id = row.text(),
          .source = row.label(),
          .kind = row.code(),
          .fields = row.unsigned32(),
          .bytes = row.unsignedInteger(),
          .time = row.time(),
          .dedupe = row.digest()};
}

}  // namespace

bool EventTable::insert(const EventRow& row) {
  Statement insert(
      database_,
      "INSERT INTO events (id, source, kind, fields, bytes, time, dedupe) VALUES (?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (dedupe) DO NOTHING");
  insert.bind(row.id).bind(row.source).bind(row.kind).bind(row.fields).bind(row.bytes).bind(row.time);
  return insert.bind(row.dedupe).run() == 1;
}

std::vector<EventRow> EventTable::list(std::string_view before, std::size_t limit) {
  Statement select(
      database_,
      "SELECT id, source, kind, fields, bytes, time, dedupe FROM events WHERE ?1 = '' OR id < ?1 "
      "ORDER BY id DESC LIMIT ?2");
  select.bind(before).bind(std::uint64_t{limit});
  std::vector<EventRow> rows;
  while (select.step()) rows.push_back(readRow(select));
  return rows;
}

std::optional<EventRow> EventTable::findByContent(const Digest& dedupe) {
  Statement select(database_,
                   "SELECT id, source, kind, fields, bytes, time, dedupe FROM events WHERE dedupe = ?");
  select.bind(dedupe);
  if (!select.step()) return std::nullopt;
  return readRow(select);
}

std::uint64_t EventTable::trim(std::uint64_t keep) {
  // Walks the index once to the newest that goes; ids rise with time.
  Statement trim(database_,
                 "DELETE FROM events WHERE id <= (SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?)");
  return static_cast<std::uint64_t>(trim.bind(keep).run());
}

}  // namespace factionos::state
