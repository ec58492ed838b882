#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/state/action_table.h"

namespace factionos::state {

// One entry of the queue: a template on a workspace, by their labels.
struct TaskRow {
  std::string id{};            // "tsk_…"
  std::uint32_t revision = 1;  // raised by every order: dispatch, cancel, retry
  std::optional<std::string> campaignId{};
  Label name;
  Label templateId;
  Label workspace;
  Code network;
  std::uint32_t timeoutMs = 0;  // 0: as the template says
  Label principal;
  std::uint32_t attempt = 1;
  std::optional<std::string> actionId{};  // of this attempt, once it was dispatched
  bool cancelled = false;
  Time created{};
  Time updated{};
};

// A task with what decides its state: its action's, and those of the tasks that it needs.
struct TaskStanding {
  TaskRow row;
  std::optional<ActionState> action{};
  std::optional<Code> failure{};
  std::optional<std::int32_t> exitCode{};
  std::uint32_t needs = 0;        // tasks that must have succeeded first
  std::uint32_t needsUnmet = 0;   // that have not
  std::uint32_t needsFailed = 0;  // and of these, those that won't without a retry
};

struct TaskFilter {
  std::optional<std::string> campaignId{};
};

class TaskTable {
 public:
  static constexpr std::size_t kMaxPage = 500;
  static constexpr std::uint64_t kMaxRows = 10'000;

  explicit TaskTable(Database& database) : database_(database) {}

  void insert(const TaskRow& row);
  // Writes attempt, action, cancelled and updated if the stored revision is `row.revision`, and raises both.
  UpdateResult update(TaskRow& row);
  void need(std::string_view task, std::string_view needed);
  std::vector<std::string> needsOf(std::string_view task);

  std::optional<TaskStanding> find(std::string_view id);
  std::optional<TaskStanding> findByAction(std::string_view actionId);
  // Newest first, those older than `before` (empty: all).
  std::vector<TaskStanding> list(const TaskFilter& filter, std::string_view before, std::size_t limit);
  // Of one campaign, in the order in which they were made. All of them.
  std::vector<TaskStanding> ofCampaign(std::string_view campaignId);
  std::uint64_t count();
  std::uint64_t open();  // that have not ended
  // Erases the oldest ended tasks that no other needs, and campaigns that have no task left, until `keep` are
  // there.
  std::uint64_t trim(std::uint64_t keep = kMaxRows);
  std::optional<Time> newest();

 private:
  Database& database_;
};

}  // namespace factionos::state
