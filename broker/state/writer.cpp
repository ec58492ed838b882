#include "broker/state/writer.h"

#include <string>
#include <utility>

#include "broker/state/meta_table.h"

namespace factionos::state {
namespace {

// What a throw while rolling back could add is nothing: SQLite has rolled back by itself then.
void rollback(Database& database) noexcept {
  try {
    if (database.inTransaction()) database.execute("ROLLBACK");
  } catch (const std::exception&) {
  }
}

}  // namespace

struct Writer::Collected {
  std::vector<factionos::audit::Record> records;
  Time now{};
};

Writer::Writer(Database& database, audit::AuditLog& log, Clock clock, audit::FaultPoints* faults)
    : database_(database), log_(log), clock_(std::move(clock)), faults_(faults) {}

void Writer::runMutations(std::vector<Mutation>& batch, BatchResult& result, Collected& collected) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Transaction transaction(database_, collected.now);
    database_.execute("SAVEPOINT mutation");
    try {
      batch[i](transaction);
    } catch (...) {
      result.errors[i] = std::current_exception();
      // Some errors of the disk end the whole transaction.
      if (!database_.inTransaction()) throw;
      database_.execute("ROLLBACK TO mutation");
    }
    database_.execute("RELEASE mutation");
    if (result.errors[i] != nullptr) continue;
    ++result.committed;
    collected.records.insert(collected.records.end(), std::make_move_iterator(transaction.records_.begin()),
                             std::make_move_iterator(transaction.records_.end()));
  }
}

void Writer::commit(Collected& collected, CommitGate& gate) {
  audit::AppendedRange range;
  if (!collected.records.empty()) range = log_.append(collected.records);
  try {
    if (range.last != 0) MetaTable(database_).set(Counter::kAuditCommitted, range.last);
    audit::reach(faults_, audit::FaultPoint::kBeforeCommit);
    if (!gate.enter()) {
      throw audit::AuditUnavailable(audit::AuditFault::kTimedOut, "state: the disk did not answer in time");
    }
    database_.execute("COMMIT");
  } catch (...) {
    if (range.last != 0) log_.markVoid(range);
    throw;
  }
}

BatchResult Writer::runBatch(std::vector<Mutation>& batch, CommitGate& gate) {
  BatchResult result;
  result.errors.resize(batch.size());
  if (batch.empty()) return result;
  try {
    Collected collected{.records = {}, .now = clock_()};
    audit::reach(faults_, audit::FaultPoint::kBeforeBegin);
    database_.execute("BEGIN IMMEDIATE");
    runMutations(batch, result, collected);
    audit::reach(faults_, audit::FaultPoint::kAfterMutations);
    if (result.committed == 0) {
      rollback(database_);
      return result;
    }
    commit(collected, gate);
  } catch (...) {
    rollback(database_);
    // Also those that threw by themselves: what they saw may have been another's change that is undone now.
    result.errors.assign(batch.size(), std::current_exception());
    result.committed = 0;
    return result;
  }
  audit::reach(faults_, audit::FaultPoint::kAfterCommit);
  return result;
}

BatchResult Writer::runBatch(std::vector<Mutation> batch) {
  CommitGate gate;
  return runBatch(batch, gate);
}

std::uint64_t committedThrough(Database& database) {
  return MetaTable(database).get(Counter::kAuditCommitted);
}

}  // namespace factionos::state
