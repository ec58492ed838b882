#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/state/database.h"

namespace factionos::state {

// What an action is, or was, of a task.
struct TaskAttempt {
  std::string taskId{};
  std::uint32_t attempt = 1;
};

// Kept as long as the task is.
class TaskAttempts {
 public:
  explicit TaskAttempts(Database& database) : database_(database) {}

  // Once for an action; a repeat changes nothing.
  void remember(std::string_view actionId, const TaskAttempt& attempt);
  std::optional<TaskAttempt> find(std::string_view actionId);

 private:
  Database& database_;
};

}  // namespace factionos::state
