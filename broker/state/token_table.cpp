#include "broker/state/token_table.h"

namespace factionos::state {
namespace {

TokenRow read(Statement& row) {
  return TokenRow{.name = row.label(),
                  .scopes = row.unsigned32(),
                  .digest = row.digest(),
                  .created = row.time(),
                  .revoked = row.optional(&Statement::time)};
}

}  // namespace

void TokenTable::insert(const TokenRow& row) {
  Statement insert(database_,
                   "INSERT INTO tokens (name, scopes, digest, created, revoked) VALUES (?, ?, ?, ?, ?)");
  insert.bind(row.name).bind(row.scopes).bind(row.digest).bind(row.created).bind(row.revoked).run();
}

bool TokenTable::revoke(const Label& name, Time when) {
  Statement update(database_, "UPDATE tokens SET revoked = ? WHERE name = ? AND revoked IS NULL");
  return update.bind(when).bind(name).run() == 1;
}

std::optional<TokenRow> TokenTable::authenticate(const Digest& digest) {
  // The look-up leaks timing of a keyed digest at most, which tells nothing about the token.
  Statement select(
      database_,
      "SELECT name, scopes, digest, created, revoked FROM tokens WHERE digest = ? AND revoked IS NULL");
  select.bind(digest);
  if (!select.step()) return std::nullopt;
  TokenRow row = read(select);
  if (!(row.digest == digest)) return std::nullopt;
  return row;
}

std::vector<TokenRow> TokenTable::list() {
  Statement select(database_, "SELECT name, scopes, digest, created, revoked FROM tokens ORDER BY name");
  std::vector<TokenRow> rows;
  while (select.step()) rows.push_back(read(select));
  return rows;
}

}  // namespace factionos::state
