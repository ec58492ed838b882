#include "broker/state/idempotency_table.h"

#include <string_view>

namespace factionos::state {
namespace {

#define FACTIONOS_KEY_COLUMNS                                                                           \
  "principal, key_digest, request_digest, action_id, state, boot_epoch, reply_status, reply, created, " \
  "expires_lived"

std::string_view nameOf(KeyState state) {
  switch (state) {
    case KeyState::kInFlight:
      return "in_flight";
    case KeyState::kWaiting:
      return "waiting";
    case KeyState::kDone:
      break;
  }
  return "done";
}

KeyState readState(Statement& row) {
  const std::string name = row.text();
  if (name == "in_flight") return KeyState::kInFlight;
  return name == "waiting" ? KeyState::kWaiting : KeyState::kDone;
}

IdempotencyRow read(Statement& row) {
  return IdempotencyRow{.principal = row.label(),
                        .keyDigest = row.digest(),
                        .requestDigest = row.digest(),
                        .actionId = row.optional(&Statement::text),
                        .state = readState(row),
                        .bootEpoch = row.unsignedInteger(),
                        .replyStatus = row.optional(&Statement::unsigned32),
                        .reply = row.blob(),
                        .created = row.time(),
                        .expiresLived = row.integer()};
}

}  // namespace

void IdempotencyTable::insert(const IdempotencyRow& row) {
  Statement insert(
      database_, "INSERT INTO idempotency (" FACTIONOS_KEY_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(row.principal)
      .bind(row.keyDigest)
      .bind(row.requestDigest)
      .bind(row.actionId)
      .bind(nameOf(row.state));
  insert.bind(row.bootEpoch)
      .bind(row.replyStatus)
      .bind(Bytes(row.reply))
      .bind(row.created)
      .bind(row.expiresLived);
  insert.run();
}

bool IdempotencyTable::update(const IdempotencyRow& row) {
  Statement update(database_,
                   "UPDATE idempotency SET request_digest = ?, action_id = ?, state = ?, boot_epoch = ?, "
                   "reply_status = ?, reply = ?, expires_lived = ? WHERE principal = ? AND key_digest = ?");
  update.bind(row.requestDigest).bind(row.actionId).bind(nameOf(row.state)).bind(row.bootEpoch);
  update.bind(row.replyStatus).bind(Bytes(row.reply)).bind(row.expiresLived);
  return update.bind(row.principal).bind(row.keyDigest).run() == 1;
}

bool IdempotencyTable::erase(const Label& principal, const Digest& keyDigest) {
  Statement erase(database_, "DELETE FROM idempotency WHERE principal = ? AND key_digest = ?");
  return erase.bind(principal).bind(keyDigest).run() == 1;
}

std::optional<IdempotencyRow> IdempotencyTable::find(const Label& principal, const Digest& keyDigest) {
  Statement select(
      database_, "SELECT " FACTIONOS_KEY_COLUMNS " FROM idempotency WHERE principal = ? AND key_digest = ?");
  select.bind(principal).bind(keyDigest);
  if (!select.step()) return std::nullopt;
  return read(select);
}

std::optional<IdempotencyRow> IdempotencyTable::findByAction(std::string_view actionId) {
  Statement select(database_, "SELECT " FACTIONOS_KEY_COLUMNS " FROM idempotency WHERE action_id = ?");
  select.bind(actionId);
  if (!select.step()) return std::nullopt;
  return read(select);
}

std::vector<IdempotencyRow> IdempotencyTable::interrupted(std::uint64_t bootEpoch, std::size_t limit) {
  Statement select(database_, "SELECT " FACTIONOS_KEY_COLUMNS
                              " FROM idempotency WHERE state = 'in_flight' AND boot_epoch < ? "
                              "AND action_id IS NOT NULL LIMIT ?");
  select.bind(bootEpoch).bind(std::uint64_t{limit});
  std::vector<IdempotencyRow> rows;
  while (select.step()) rows.push_back(read(select));
  return rows;
}

std::uint64_t IdempotencyTable::purge(std::int64_t lived, std::size_t limit) {
  Statement purge(database_,
                  "DELETE FROM idempotency WHERE (principal, key_digest) IN (SELECT principal, key_digest "
                  "FROM idempotency WHERE state IN ('done', 'waiting') AND expires_lived <= ? LIMIT ?)");
  return static_cast<std::uint64_t>(purge.bind(lived).bind(std::uint64_t{limit}).run());
}

}  // namespace factionos::state
