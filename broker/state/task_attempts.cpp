#include "broker/state/task_attempts.h"

namespace factionos::state {

void TaskAttempts::remember(std::string_view actionId, const TaskAttempt& attempt) {
  Statement insert(database_, "INSERT OR IGNORE INTO task_attempts VALUES (?, ?, ?)");
  insert.bind(actionId).bind(attempt.taskId).bind(attempt.attempt).run();
}

std::optional<TaskAttempt> TaskAttempts::find(std::string_view actionId) {
  Statement select(database_, "SELECT task_id, attempt FROM task_attempts WHERE action_id = ?");
  select.bind(actionId);
  if (!select.step()) return std::nullopt;
  return TaskAttempt{.taskId = select.text(), .attempt = select.unsigned32()};
}

}  // namespace factionos::state
