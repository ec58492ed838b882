#pragma once

#include <cstdint>

#include "broker/core/rule_book.h"
#include "broker/idempotency/idempotency.h"
#include "broker/state/writer.h"

namespace factionos::broker {

struct Recovered {
  std::uint64_t actions = 0;  // that were executing when the broker ended
  std::uint64_t keys = 0;
};

// What a start finds of the broker before it: actions whose outcome nobody recorded become `unknown`, and
// their keys answer with that from now on. Those whose effect died with its process (terminal) are failed at
// once; those whose effect can be looked up stay unknown until ActionRunner::reconcile() has asked their
// family. Inside one mutation, before anything is served; nothing is run again.
Recovered recover(state::Transaction& transaction, const idempotency::Idempotency& idempotency,
                  idempotency::LivedTime now);

}  // namespace factionos::broker
