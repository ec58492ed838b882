#include "broker/idempotency/idempotency.h"

#include <stdexcept>
#include <utility>

#include "broker/state/meta_table.h"

namespace factionos::idempotency {
namespace {

using state::IdempotencyRow;
using state::IdempotencyTable;
using state::KeyState;

constexpr std::size_t kMaxKeyBytes = 255;

// Keeps the lived time durable with the change that used it, so that a restart goes on from there.
void remember(state::Transaction& transaction, LivedTime now) {
  state::MetaTable meta(transaction.database());
  const auto lived = static_cast<std::uint64_t>(now.ms);
  if (lived > meta.get(state::Counter::kLivedMs)) meta.set(state::Counter::kLivedMs, lived);
}

IdempotencyRow require(IdempotencyTable& table, const KeyHandle& handle) {
  auto row = table.find(handle.principal, handle.keyDigest);
  if (!row) throw std::logic_error("idempotency: the key was not begun");
  return *std::move(row);
}

}  // namespace

std::optional<KeyError> checkKey(std::string_view key) {
  if (key.empty()) return KeyError::kEmpty;
  if (key.size() > kMaxKeyBytes) return KeyError::kTooLong;
  for (const char c : key) {
    if (c < 0x21 || c > 0x7e) return KeyError::kNotVisibleAscii;
  }
  if (key.find_first_of("\"'") != std::string_view::npos) return KeyError::kQuote;
  return std::nullopt;
}

std::string_view nameOf(KeyError error) {
  switch (error) {
    case KeyError::kEmpty:
      return "idempotency_key_empty";
    case KeyError::kTooLong:
      return "idempotency_key_too_long";
    case KeyError::kNotVisibleAscii:
      return "idempotency_key_not_visible_ascii";
    case KeyError::kQuote:
      return "idempotency_key_quoted";
  }
  return "idempotency_key_invalid";
}

Decision Idempotency::begin(state::Transaction& transaction, const Label& principal, std::string_view key,
                            const Digest& requestDigest, LivedTime now) const {
  if (const auto error = checkKey(key)) throw std::invalid_argument(std::string(nameOf(*error)));
  const KeyHandle handle{principal, keys_.digest(state::Purpose::kIdempotencyKey, audit::asBytes(key))};
  IdempotencyTable table(transaction.database());
  std::optional<IdempotencyRow> row = table.find(principal, handle.keyDigest);
  const bool orphaned = row && row->state == KeyState::kInFlight && row->bootEpoch < bootEpoch_;
  // Past its lifetime, or claimed by a start that died before it had recorded an intent: nothing stands
  // behind it.
  if (row &&
      ((row->state != KeyState::kInFlight && row->expiresLived <= now.ms) || (orphaned && !row->actionId))) {
    table.erase(principal, handle.keyDigest);
    row.reset();
  }
  if (!row) {
    table.insert(IdempotencyRow{.principal = principal,
                                .keyDigest = handle.keyDigest,
                                .requestDigest = requestDigest,
                                .state = KeyState::kInFlight,
                                .bootEpoch = bootEpoch_,
                                .created = transaction.now(),
                                .expiresLived = now.ms + lifetimeMs_});
    remember(transaction, now);
    return {Fresh{}, handle};
  }
  if (!(row->requestDigest == requestDigest)) return {Mismatch{}, handle};
  if (orphaned) return {Interrupted{*row->actionId}, handle};
  switch (row->state) {
    case KeyState::kInFlight:
      return {InFlight{kRetryAfterMs}, handle};
    case KeyState::kWaiting:
      return {Waiting{row->actionId.value_or("")}, handle};
    case KeyState::kDone:
      break;
  }
  return {Replay{row->replyStatus.value_or(0), std::move(row->reply), row->actionId}, handle};
}

void Idempotency::attachAction(state::Transaction& transaction, const KeyHandle& handle,
                               std::string_view actionId) const {
  IdempotencyTable table(transaction.database());
  IdempotencyRow row = require(table, handle);
  if (row.actionId && *row.actionId != actionId)
    throw std::logic_error("idempotency: the key has another action");
  row.actionId = std::string(actionId);
  table.update(row);
}

void Idempotency::wait(state::Transaction& transaction, const KeyHandle& handle, LivedTime now) const {
  IdempotencyTable table(transaction.database());
  IdempotencyRow row = require(table, handle);
  if (!row.actionId || row.state != KeyState::kInFlight) {
    throw std::logic_error("idempotency: only a key in flight with an action can wait");
  }
  row.state = KeyState::kWaiting;
  row.expiresLived = now.ms + lifetimeMs_;
  table.update(row);
  remember(transaction, now);
}

bool Idempotency::claim(state::Transaction& transaction, const KeyHandle& handle) const {
  IdempotencyTable table(transaction.database());
  IdempotencyRow row = require(table, handle);
  if (row.state != KeyState::kWaiting) return false;
  row.state = KeyState::kInFlight;
  row.bootEpoch = bootEpoch_;
  return table.update(row);
}

void Idempotency::finish(state::Transaction& transaction, const KeyHandle& handle, std::uint32_t status,
                         Bytes reply, LivedTime now) const {
  if (reply.size() > kMaxReplyBytes) throw std::logic_error("idempotency: the reply is too large to be kept");
  IdempotencyTable table(transaction.database());
  IdempotencyRow row = require(table, handle);
  if (row.state == KeyState::kDone) throw std::logic_error("idempotency: the key has its answer");
  row.state = KeyState::kDone;
  row.replyStatus = status;
  row.reply.assign(reply.begin(), reply.end());
  row.expiresLived = now.ms + lifetimeMs_;
  table.update(row);
  remember(transaction, now);
}

bool Idempotency::release(state::Transaction& transaction, const KeyHandle& handle) const {
  IdempotencyTable table(transaction.database());
  const auto row = table.find(handle.principal, handle.keyDigest);
  if (!row || row->state != KeyState::kInFlight || row->actionId) return false;
  return table.erase(handle.principal, handle.keyDigest);
}

std::vector<IdempotencyRow> Idempotency::interrupted(state::Transaction& transaction,
                                                     std::size_t limit) const {
  return IdempotencyTable(transaction.database()).interrupted(bootEpoch_, limit);
}

std::uint64_t Idempotency::purge(state::Transaction& transaction, LivedTime now, std::size_t limit) const {
  return IdempotencyTable(transaction.database()).purge(now.ms, limit);
}

}  // namespace factionos::idempotency
