#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

#include "broker/audit/audit_log.h"
#include "broker/state/database.h"

namespace factionos::state {

using audit::Clock;

// What a mutation sees: the writer's connection inside an open transaction. Valid during the call alone.
class Transaction {
 public:
  Transaction(Database& database, Time now) : database_(database), now_(now) {}

  Database& database() { return database_; }
  // Wall time of this batch.
  Time now() const { return now_; }
  // A record that must be durable before this change is. Dropped if the mutation throws.
  void audit(factionos::audit::Record record) { records_.push_back(std::move(record)); }

 private:
  friend class Writer;
  Database& database_;
  Time now_;
  std::vector<factionos::audit::Record> records_;
};

// One change, all or nothing. Runs on the writer's thread; results leave through what it captures. What it
// throws reaches its own submitter and undoes it alone. May run again after an error of the batch only if it
// is submitted again.
using Mutation = std::function<void(Transaction&)>;

struct BatchResult {
  // One a mutation, in order. Null: committed, durably. Else what it threw, or, for all alike,
  // AuditUnavailable or StateUnavailable of the batch: then nothing of it is in the state.
  std::vector<std::exception_ptr> errors;
  std::size_t committed = 0;
};

// Lets the submitter give a stuck batch up: before the commit has begun it won't happen any more.
class CommitGate {
 public:
  // True if the batch will not commit; false if its commit has begun and its outcome must be awaited.
  bool abandon() {
    Phase expected = Phase::kOpen;
    return phase_.compare_exchange_strong(expected, Phase::kAbandoned) || expected == Phase::kAbandoned;
  }
  // The writer's side, just before the commit: false if abandoned.
  bool enter() {
    Phase expected = Phase::kOpen;
    return phase_.compare_exchange_strong(expected, Phase::kCommitting);
  }

 private:
  enum class Phase { kOpen, kAbandoned, kCommitting };
  std::atomic<Phase> phase_{Phase::kOpen};
};

// Group commit. All mutations of a batch share one transaction, one sync of the audit and one of the state,
// in this order: rows → audit durable → commit. One thread at a time, the one that owns `database` and `log`.
class Writer {
 public:
  // Borrows all; `database` is the read-write connection. `log` was opened with committedThrough(database).
  Writer(Database& database, audit::AuditLog& log, Clock clock = audit::systemNow,
         audit::FaultPoints* faults = nullptr);

  // Never throws for what goes wrong in the batch, see BatchResult. A failed batch leaves the writer usable:
  // when the disk has space again the next batch works.
  BatchResult runBatch(std::vector<Mutation>& batch, CommitGate& gate);
  BatchResult runBatch(std::vector<Mutation> batch);

 private:
  struct Collected;
  void runMutations(std::vector<Mutation>& batch, BatchResult& result, Collected& collected);
  void commit(Collected& collected, CommitGate& gate);

  Database& database_;
  audit::AuditLog& log_;
  Clock clock_;
  audit::FaultPoints* faults_;
};

// What AuditOptions::committedThrough needs.
std::uint64_t committedThrough(Database& database);

}  // namespace factionos::state
