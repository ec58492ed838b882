#include "broker/actions/ledger.h"

#include <utility>

#include "broker/actions/view.h"

namespace factionos::actions {
namespace {

Code codeOf(KeyNote note) {
  switch (note) {
    case KeyNote::kFresh:
      return Code::of("fresh");
    case KeyNote::kWaiting:
      return Code::of("waiting");
    case KeyNote::kInFlight:
      return Code::of("in_flight");
    case KeyNote::kDone:
      return Code::of("done");
    case KeyNote::kNone:
      break;
  }
  return Code::of("none");
}

audit::Record recordOf(const state::ActionRow& row, Code decision, KeyNote note) {
  return {.actionId = row.id,
          .revision = row.revision,
          .family = row.family,
          .operation = row.operation,
          .requester = row.principal,
          .approver = row.approver,
          .decision = std::move(decision),
          .idempotency = codeOf(note),
          .result = Code::of(state::nameOf(row.state)),
          .target = targetOf(row),
          .failure = row.failure,
          .counts = {.bytesIn = row.counts.bytesIn,
                     .bytesOut = row.counts.bytesOut,
                     .denials = row.counts.denials},
          .requestDigest = row.requestDigest};
}

}  // namespace

void open(state::Transaction& transaction, state::ActionRow& row, KeyNote note) {
  state::ActionTable(transaction.database()).insert(row);
  transaction.audit(recordOf(row, row.decision.value_or(Code::of("none")), note));
}

state::ActionRow apply(state::Transaction& transaction, std::string_view id, const Change& change) {
  state::ActionTable table(transaction.database());
  auto row = table.find(id);
  if (!row) throw Refusal({.code = schema::ProblemCode::NOT_FOUND});
  if (change.expectedRevision && *change.expectedRevision != row->revision)
    throw Refusal({.code = schema::ProblemCode::STALE_REVISION, .currentRevision = row->revision});
  const auto to = next(row->state, change.event);
  if (!to) throw Refusal(conflictOf(*row));
  row->state = *to;
  row->updated = transaction.now();
  if (change.approver) row->approver = change.approver;
  if (change.decision) row->decision = change.decision;
  if (change.failure) row->failure = change.failure;
  if (*to == state::ActionState::kSucceeded) row->failure.reset();  // of when nobody could tell
  if (change.exitCode) row->exitCode = change.exitCode;
  if (change.sessionId) row->sessionId = change.sessionId;
  if (change.counts) row->counts = *change.counts;
  if (change.expires) row->expires = change.expires;
  if (table.update(*row) != state::UpdateResult::kUpdated)
    throw Refusal({.code = schema::ProblemCode::STALE_REVISION, .currentRevision = row->revision});
  transaction.audit(recordOf(*row, change.decision.value_or(Code::of("none")), change.note));
  return *std::move(row);
}

void note(state::Transaction& transaction, audit::Record record) {
  transaction.audit(std::move(record));
}

Refused conflictOf(const state::ActionRow& row) {
  using schema::ProblemCode;
  Refused refused{.currentRevision = row.revision, .state = toSchema(row.state)};
  switch (row.state) {
    case ActionState::kRejected:
      refused.code = ProblemCode::REJECTED;
      break;
    case ActionState::kExpired:
      refused.code = ProblemCode::APPROVAL_EXPIRED;
      break;
    case ActionState::kProposed:
    case ActionState::kApproved:
      refused.code = ProblemCode::ALREADY_DECIDED;
      break;
    default:
      refused.code = ProblemCode::APPROVAL_USED;
      break;
  }
  return refused;
}

}  // namespace factionos::actions
