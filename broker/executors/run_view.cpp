#include "broker/executors/run_view.h"

#include <algorithm>
#include <array>

namespace factionos::broker {
namespace {

using actions::Outgoing;
using redaction::Boundary;
using redaction::Literal;
using redaction::Redactor;
using state::ActionState;

struct FailureRow {
  std::string_view failure;
  Recovery recovery;
};

constexpr std::array kFailures{
    FailureRow{"exit_status", {false, "Read the run's output: the agent itself said that it failed."}},
    FailureRow{"processes_reached", {false, "The template's limit of processes was reached; raise it."}},
    FailureRow{"out_of_memory", {false, "The template's limit of memory was reached; raise it."}},
    FailureRow{"timed_out",
               {true, "It was ended at its time limit; ask for more, as far as the template allows."}},
    FailureRow{"killed", {true, "It was ended by its owner."}},
    FailureRow{"cancelled", {true, "Its task was cancelled."}},
    FailureRow{"shutdown", {true, "The broker was stopped; run it again."}},
    FailureRow{"lost_in_crash", {true, "The broker ended while it ran; its container has been removed."}},
    FailureRow{"worker_lost", {true, "Its worker was lost; its container has been removed or will be."}},
    FailureRow{"engine_lost", {true, "The engine went away; see the container's readiness."}},
    FailureRow{"engine_unavailable", {true, "See the container's readiness for what is missing."}},
    FailureRow{"engine_refused", {true, "The engine answered with an error; its own log says which."}},
    FailureRow{"exit_unknown", {false, "It ended, and the engine did not tell how; read its output."}},
    FailureRow{"engine_timeout", {true, "The engine was too slow; try again."}},
    FailureRow{"image_missing", {true, "Build the image with docker/build."}},
    FailureRow{"image_changed", {true, "Another image has the name by now; propose again."}},
    FailureRow{"network_missing", {true, "Make the engine's network with docker/egress-network."}},
    FailureRow{"start_refused",
               {false, "The engine made it and did not start it; is the template's program in the image?"}},
    FailureRow{"not_as_meant", {false, "The engine does not enforce what a run needs; use another."}},
    FailureRow{"rejected", {true, "The operator rejected it; ask for something else, or again."}},
    FailureRow{"expired", {true, "Nobody decided in time; ask again."}},
};

template <Boundary B>
void fillExit(const state::ActionRow& action, Outgoing<B, schema::Exit> exit) {
  using E = schema::Exit::Builder;
  if (action.exitCode && *action.exitCode >= 0 && *action.exitCode <= 255) {
    exit.set(&E::setCode, static_cast<std::uint8_t>(*action.exitCode));
  } else if (action.state == ActionState::kExecuting) {
    exit.set(&E::setRunning);
  } else {
    exit.set(&E::setLost);
  }
}

}  // namespace

Recovery recoveryOf(ActionState state, std::string_view failure) {
  if (state == ActionState::kUnknown)
    return {false, "A crash hid how it ended; it is being looked up, and is not run again."};
  if (state == ActionState::kRejected) failure = "rejected";
  if (state == ActionState::kExpired) failure = "expired";
  const auto* row =
      std::ranges::find_if(kFailures, [&](const FailureRow& each) { return each.failure == failure; });
  return row == kFailures.end() ? Recovery{} : row->recovery;
}

template <Boundary B>
void fillRun(const RunRows& rows, Outgoing<B, schema::Run> run) {
  using R = schema::Run::Builder;
  using Red = Redactor<B>;
  const auto& action = rows.action;
  run.set(&R::setId, Red::label(actions::idLabel(state::runIdOf(action.id))));
  run.set(&R::setActionId, Red::label(actions::idLabel(action.id)));
  run.set(&R::setRevision, std::uint64_t{action.revision});
  run.set(&R::setState, actions::toSchema(action.state));
  if (action.failure) run.set(&R::setFailureCode, Red::code(*action.failure));
  if (action.state != ActionState::kProposed && action.state != ActionState::kApproved)
    fillExit(action, run.init(&R::initExit));
  if (action.target) run.set(&R::setTemplate, Red::label(*action.target));
  if (action.workspace) run.set(&R::setWorkspace, Red::label(*action.workspace));
  run.set(&R::setNetworkProfile, actions::networkFrom(action.network ? action.network->text() : "none"));
  run.set(&R::setOwner, Red::label(action.principal));
  run.set(&R::setCreatedAt, actions::millis(action.created));
  const auto counts = rows.counts.value_or(action.counts);
  run.set(&R::setTotalBytes, counts.bytesOut);
  run.set(&R::setDroppedBytes, counts.droppedBytes);
  if (rows.run) {
    run.set(&R::setRuntime, Red::code(rows.run->runtime));
    run.set(&R::setCleanup, Red::code(rows.run->cleanup));
    run.set(&R::setStartedAt, actions::millis(rows.run->started));
    if (rows.run->ended) run.set(&R::setEndedAt, actions::millis(*rows.run->ended));
  }
  run.set(&R::setLines, std::max(rows.lines, rows.run ? rows.run->lines : 0));
  const auto recovery =
      recoveryOf(action.state, action.failure ? action.failure->text() : std::string_view());
  run.set(&R::setRetryable, recovery.retryable);
  if (!recovery.sentence.empty()) run.set(&R::setRecovery, Red::words(recovery.sentence));
  if (!rows.task) return;
  run.set(&R::setTaskId, Red::label(actions::idLabel(rows.task->row.id)));
  run.set(&R::setAttempt, rows.task->row.attempt);
}

template void fillRun(const RunRows&, Outgoing<Boundary::kApiResponse, schema::Run>);
template void fillRun(const RunRows&, Outgoing<Boundary::kWebSocketFrame, schema::Run>);
template void fillRun(const RunRows&, Outgoing<Boundary::kStateAtRest, schema::Run>);

}  // namespace factionos::broker
