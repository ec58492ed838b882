#include "broker/state/meta_table.h"

namespace factionos::state {
namespace {

std::string_view nameOf(Counter counter) {
  switch (counter) {
    case Counter::kPolicyRevision:
      return "policy_revision";
    case Counter::kBootEpoch:
      return "boot_epoch";
    case Counter::kLivedMs:
      return "lived_ms";
    case Counter::kPolicyDigest:
      return "policy_digest";
    case Counter::kAuditCommitted:
      return "audit_committed";
  }
  return "";
}

}  // namespace

std::uint64_t MetaTable::get(Counter counter) {
  Statement select(database_, "SELECT value FROM meta WHERE name = ?");
  select.bind(nameOf(counter));
  return select.step() ? select.unsignedInteger() : 0;
}

void MetaTable::set(Counter counter, std::uint64_t value) {
  Statement upsert(database_,
                   "INSERT INTO meta (name, value) VALUES (?, ?) "
                   "ON CONFLICT (name) DO UPDATE SET value = excluded.value");
  upsert.bind(nameOf(counter)).bind(value).run();
}

std::uint64_t MetaTable::raise(Counter counter) {
  const std::uint64_t next = get(counter) + 1;
  set(counter, next);
  return next;
}

}  // namespace factionos::state
