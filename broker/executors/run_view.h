#pragma once

#include <optional>
#include <string>

#include "broker/actions/view.h"
#include "broker/state/ids.h"
#include "broker/state/run_table.h"
#include "broker/state/task_table.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// All that is known of one run, beside its output.
struct RunRows {
  state::ActionRow action;
  std::optional<state::RunRow> run;           // none: it was never started
  std::optional<state::TaskStanding> task;    // whose attempt it is, if it is a task's
  std::optional<state::ActionCounts> counts;  // of one that lives
  std::uint64_t lines = 0;
};

// For kApiResponse, kWebSocketFrame and kStateAtRest. Without output.
template <redaction::Boundary B>
void fillRun(const RunRows& rows, actions::Outgoing<B, schema::Run> run);

// Whether a failure may pass by itself, and what its reader can do. Fixed words of ours.
struct Recovery {
  bool retryable = false;
  redaction::Literal sentence;
};
Recovery recoveryOf(state::ActionState state, std::string_view failure);

}  // namespace factionos::broker
