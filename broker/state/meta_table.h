#pragma once

#include <cstdint>

#include "broker/state/database.h"

namespace factionos::state {

// Numbers of which there is one each.
enum class Counter {
  kPolicyRevision,  // raised whenever policy or grants change
  kBootEpoch,       // raised at every start of the broker
  kLivedMs,         // milliseconds that brokers of this home have run (broker/idempotency)
  kPolicyDigest,    // a fingerprint of the policy that the revision was last raised for
  kAuditCommitted,  // highest audit sequence number that a commit covers
};

class MetaTable {
 public:
  explicit MetaTable(Database& database) : database_(database) {}

  std::uint64_t get(Counter counter);  // 0 if never set
  void set(Counter counter, std::uint64_t value);
  std::uint64_t raise(Counter counter);  // by one; returns the new value

 private:
  Database& database_;
};

}  // namespace factionos::state
