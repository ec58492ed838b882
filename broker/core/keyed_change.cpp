#include "broker/core/keyed_change.h"

#include <utility>

namespace factionos::broker {
namespace {

using schema::ProblemCode;

// Another request has the key, or one that waits for a decision: never one of these.
StoredReply judge(idempotency::Decision decision) {
  if (auto* replay = std::get_if<idempotency::Replay>(&decision.outcome))
    return {.status = replay->status, .bytes = std::move(replay->reply), .replay = Replay::kAgain};
  if (std::holds_alternative<idempotency::InFlight>(decision.outcome))
    throw actions::Refusal({.code = ProblemCode::IN_FLIGHT, .retryAfterMs = idempotency::kRetryAfterMs});
  throw actions::Refusal({.code = ProblemCode::IDEMPOTENCY_MISMATCH});
}

}  // namespace

kj::Promise<Outcome<StoredReply>> change(Core& core, KeyedChange keyed) {
  if (idempotency::checkKey(keyed.key))
    return Outcome<StoredReply>(Refused{.code = ProblemCode::IDEMPOTENCY_KEY_REQUIRED});
  const auto step = keyed.step;
  return commit<StoredReply>(core, step, [&core, keyed = std::move(keyed)](state::Transaction& transaction) {
    auto decision =
        core.idempotency.begin(transaction, keyed.principal, keyed.key, keyed.request, core.lived.now());
    if (!std::holds_alternative<idempotency::Fresh>(decision.outcome)) return judge(std::move(decision));
    auto reply = keyed.make(transaction);
    core.idempotency.finish(transaction, decision.handle, reply.status, reply.bytes, core.lived.now());
    return reply;
  });
}

}  // namespace factionos::broker
