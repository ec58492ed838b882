#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/state/database.h"

namespace factionos::state {

enum class KeyState { kInFlight, kWaiting, kDone };

// One idempotency key of one principal. Rules are in broker/idempotency; this is storage only.
struct IdempotencyRow {
  Label principal;
  Digest keyDigest{};      // Purpose::kIdempotencyKey
  Digest requestDigest{};  // Purpose::kRequest
  std::optional<std::string> actionId{};
  KeyState state = KeyState::kInFlight;
  std::uint64_t bootEpoch = 0;  // start of the broker that claimed it
  std::optional<std::uint32_t> replyStatus{};
  std::vector<std::uint8_t> reply{};  // what the redactor of state at rest let through
  Time created{};
  std::int64_t expiresLived = 0;  // on the clock of broker/idempotency, not of the wall
};

class IdempotencyTable {
 public:
  explicit IdempotencyTable(Database& database) : database_(database) {}

  void insert(const IdempotencyRow& row);
  // Replaces everything but principal, key digest and created; false if there is no such row.
  bool update(const IdempotencyRow& row);
  bool erase(const Label& principal, const Digest& keyDigest);
  std::optional<IdempotencyRow> find(const Label& principal, const Digest& keyDigest);
  std::optional<IdempotencyRow> findByAction(std::string_view actionId);
  // Rows in flight that an earlier start of the broker claimed.
  std::vector<IdempotencyRow> interrupted(std::uint64_t bootEpoch, std::size_t limit);
  // Erases done and waiting rows that expired at or before `lived`; returns how many.
  std::uint64_t purge(std::int64_t lived, std::size_t limit);

 private:
  Database& database_;
};

}  // namespace factionos::state
