#pragma once

#include <optional>

#include "broker/state/action_table.h"

namespace factionos::actions {

using state::ActionState;

// What can happen to a guarded action.
enum class Event {
  kApprove,
  kReject,
  kExpire,
  kBegin,  // intent is durable, the effect may start
  kSucceed,
  kFail,
  kTimeOut,
  kLose,                // a crash hid the outcome
  kReconcileSucceeded,  // and the state of the world told it later
  kReconcileFailed,
};

// The state after `event`, or nothing where the life of an action does not allow it.
std::optional<ActionState> next(ActionState from, Event event);

// No event leads on from here.
bool isFinal(ActionState state);

}  // namespace factionos::actions
