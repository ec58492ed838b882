#include "broker/state/grant_table.h"

namespace factionos::state {

void GrantTable::insert(GrantRow& row) {
  Statement insert(
      database_,
      "INSERT INTO grants (family, operation, workspace, principal, program, program_digest, network, "
      "grantor, until, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
  insert.bind(row.family).bind(row.operation).bind(row.workspace).bind(row.principal).bind(row.program);
  insert.bind(row.programDigest).bind(row.network).bind(row.grantor).bind(row.until).bind(row.created);
  while (insert.step()) row.id = insert.integer();
}

bool GrantTable::erase(std::int64_t id) {
  Statement erase(database_, "DELETE FROM grants WHERE id = ?");
  return erase.bind(id).run() == 1;
}

std::vector<GrantRow> GrantTable::live(Time now) {
  Statement select(
      database_,
      "SELECT id, family, operation, workspace, principal, program, program_digest, network, grantor, "
      "until, created FROM grants WHERE until > ? ORDER BY id");
  select.bind(now);
  std::vector<GrantRow> rows;
  while (select.step()) {
    rows.push_back(GrantRow{.id = select.integer(),
                            .family = select.code(),
                            .operation = select.code(),
                            .workspace = select.optional(&Statement::label),
                            .principal = select.optional(&Statement::label),
                            .program = select.optional(&Statement::label),
                            .programDigest = select.optional(&Statement::digest),
                            .network = select.optional(&Statement::code),
                            .grantor = select.label(),
                            .until = select.time(),
                            .created = select.time()});
  }
  return rows;
}

std::uint64_t GrantTable::purge(Time now) {
  Statement purge(database_, "DELETE FROM grants WHERE until <= ?");
  return static_cast<std::uint64_t>(purge.bind(now).run());
}

}  // namespace factionos::state
