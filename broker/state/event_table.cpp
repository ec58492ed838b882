#include "broker/state/event_table.h"

namespace factionos::state {

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
  while (select.step()) {
    rows.push_back(EventRow{.id = select.text(),
                            .source = select.label(),
                            .kind = select.code(),
                            .fields = select.unsigned32(),
                            .bytes = select.unsignedInteger(),
                            .time = select.time(),
                            .dedupe = select.digest()});
  }
  return rows;
}

std::uint64_t EventTable::trim(std::uint64_t keep) {
  Statement trim(database_,
                 "DELETE FROM events WHERE id NOT IN (SELECT id FROM events ORDER BY id DESC LIMIT ?)");
  return static_cast<std::uint64_t>(trim.bind(keep).run());
}

}  // namespace factionos::state
