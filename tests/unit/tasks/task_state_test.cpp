#include <gtest/gtest.h>

#include "broker/tasks/task_view.h"

namespace factionos::broker {
namespace {

using schema::TaskState;
using state::ActionState;

state::TaskStanding standing(std::optional<ActionState> action, bool cancelled = false,
                             std::uint32_t unmet = 0) {
  state::TaskStanding task{.row = {.id = "tsk_1",
                                   .name = audit::Label::of("n"),
                                   .templateId = audit::Label::of("t"),
                                   .workspace = audit::Label::of("w"),
                                   .network = audit::Code::of("none"),
                                   .principal = audit::Label::of("p"),
                                   .cancelled = cancelled}};
  task.action = action;
  task.needsUnmet = unmet;
  return task;
}

TEST(TaskState, IsItsActionsState) {
  EXPECT_EQ(stateOf(standing({})), TaskState::QUEUED);
  EXPECT_EQ(stateOf(standing({}, false, 1)), TaskState::BLOCKED);
  EXPECT_EQ(stateOf(standing(ActionState::kProposed)), TaskState::WAITING);
  EXPECT_EQ(stateOf(standing(ActionState::kApproved)), TaskState::WAITING);
  EXPECT_EQ(stateOf(standing(ActionState::kExecuting)), TaskState::RUNNING);
  EXPECT_EQ(stateOf(standing(ActionState::kSucceeded)), TaskState::SUCCEEDED);
  for (const auto state :
       {ActionState::kFailed, ActionState::kTimedOut, ActionState::kRejected, ActionState::kExpired})
    EXPECT_EQ(stateOf(standing(state)), TaskState::FAILED);
  EXPECT_EQ(stateOf(standing(ActionState::kUnknown)), TaskState::UNKNOWN);
}

TEST(TaskState, ACancelledOneIsWhatItReallyBecame) {
  EXPECT_EQ(stateOf(standing({}, true)), TaskState::CANCELLED);
  EXPECT_EQ(stateOf(standing(ActionState::kApproved, true)), TaskState::CANCELLED);
  EXPECT_EQ(stateOf(standing(ActionState::kFailed, true)), TaskState::CANCELLED);
  // It runs until it has been ended, and it may have been too late.
  EXPECT_EQ(stateOf(standing(ActionState::kExecuting, true)), TaskState::RUNNING);
  EXPECT_EQ(stateOf(standing(ActionState::kSucceeded, true)), TaskState::SUCCEEDED);
}

}  // namespace
}  // namespace factionos::broker
