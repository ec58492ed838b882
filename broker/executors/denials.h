#pragma once

#include <string_view>

#include "broker/actions/refusal.h"
#include "broker/executors/workers.h"

namespace factionos::broker {

// What the caller hears of a denial by the launcher or a session supervisor. Both are trusted with the choice
// of a row, not with its words: a code that is no row is a bad request to the caller and a line in the log.
actions::Refused refusedFor(std::string_view code, std::string_view rule);
inline actions::Refused refusedFor(const LaunchDenied& denied) {
  return refusedFor(denied.code, denied.rule);
}

// The launcher or a supervisor that did not answer.
actions::Refused lost();

// Why a call to a worker failed by `exception`; nobody may be given that worker any more. One that did not
// answer in time is ended, and `late` says so to the caller. `worker` must live until the answer.
kj::Promise<actions::Refused> whyCallFailed(kj::Timer& timer, StartedWorker& worker,
                                            const kj::Exception& exception, redaction::Literal late);

}  // namespace factionos::broker
