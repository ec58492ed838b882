#include "broker/recovery.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "broker/actions/ledger.h"
#include "broker/actions/view.h"
#include "broker/core/replies.h"
#include "broker/state/session_table.h"

namespace factionos::broker {
namespace {

constexpr std::size_t kBatch = 500;
constexpr std::uint32_t kTimedOutStatus = 504;

void endSessions(state::Transaction& transaction) {
  state::SessionTable sessions(transaction.database());
  for (auto row : sessions.unfinished()) {
    row.state = audit::Code::of("ended");
    row.ended = transaction.now();
    sessions.update(row);
  }
}

// Families whose effects leave something behind that tells whether they happened.
constexpr std::array<std::string_view, 3> kLookedUp{"file", "container", "git"};

void loseAction(state::Transaction& transaction, const state::ActionRow& row) {
  actions::apply(transaction, row.id, {.event = actions::Event::kLose, .note = actions::KeyNote::kInFlight});
  if (std::ranges::find(kLookedUp, row.family.text()) != kLookedUp.end()) return;
  actions::apply(transaction, row.id,
                 {.event = actions::Event::kReconcileFailed,
                  .failure = audit::Code::of("lost_in_crash"),
                  .note = actions::KeyNote::kDone});
}

}  // namespace

Recovered recover(state::Transaction& transaction, const idempotency::Idempotency& idempotency,
                  idempotency::LivedTime now) {
  Recovered recovered;
  endSessions(transaction);
  state::ActionTable table(transaction.database());
  for (;;) {
    const auto page =
        table.list({.state = state::ActionState::kExecuting}, {}, kBatch, state::ListOrder::kOldestFirst);
    if (page.rows.empty()) break;
    for (const auto& row : page.rows) {
      loseAction(transaction, row);
      ++recovered.actions;
    }
  }
  const auto reply = encodeReply<schema::ProblemReply>([](auto results) {
    actions::fill(
        {.code = schema::ProblemCode::TIMED_OUT,
         .detail = "The broker ended while this ran: the outcome is unknown, and it is not run again.",
         .state = schema::ActionState::UNKNOWN},
        results.init(&schema::ProblemReply::Builder::initProblem));
  });
  for (;;) {
    const auto rows = idempotency.interrupted(transaction, kBatch);
    if (rows.empty()) break;
    for (const auto& row : rows) {
      idempotency.finish(transaction, {.principal = row.principal, .keyDigest = row.keyDigest},
                         kTimedOutStatus, reply, now);
      ++recovered.keys;
    }
  }
  return recovered;
}

}  // namespace factionos::broker
