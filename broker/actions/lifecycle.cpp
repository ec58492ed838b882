#include "broker/actions/lifecycle.h"

#include <algorithm>
#include <array>

namespace factionos::actions {
namespace {

struct Row {
  ActionState from;
  Event event;
  ActionState to;
};

constexpr std::array kRows{
    Row{ActionState::kProposed, Event::kApprove, ActionState::kApproved},
    Row{ActionState::kProposed, Event::kReject, ActionState::kRejected},
    Row{ActionState::kProposed, Event::kExpire, ActionState::kExpired},
    // An approval that nobody used in time is as void as a question that nobody answered.
    Row{ActionState::kApproved, Event::kExpire, ActionState::kExpired},
    Row{ActionState::kApproved, Event::kBegin, ActionState::kExecuting},
    Row{ActionState::kExecuting, Event::kSucceed, ActionState::kSucceeded},
    Row{ActionState::kExecuting, Event::kFail, ActionState::kFailed},
    Row{ActionState::kExecuting, Event::kTimeOut, ActionState::kTimedOut},
    Row{ActionState::kExecuting, Event::kLose, ActionState::kUnknown},
    Row{ActionState::kUnknown, Event::kReconcileSucceeded, ActionState::kSucceeded},
    Row{ActionState::kUnknown, Event::kReconcileFailed, ActionState::kFailed},
};

}  // namespace

std::optional<ActionState> next(ActionState from, Event event) {
  const auto* row =
      std::ranges::find_if(kRows, [&](const Row& each) { return each.from == from && each.event == event; });
  if (row == kRows.end()) return std::nullopt;
  return row->to;
}

bool isFinal(ActionState state) {
  return std::ranges::none_of(kRows, [&](const Row& row) { return row.from == state; });
}

}  // namespace factionos::actions
