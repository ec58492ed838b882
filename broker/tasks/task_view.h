#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/actions/outgoing.h"
#include "broker/state/campaign_table.h"
#include "broker/state/run_table.h"
#include "broker/state/task_table.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// Where a task stands: its action's state, as far as it has one, and that of the tasks that it needs.
schema::TaskState stateOf(const state::TaskStanding& task);
bool hasEnded(schema::TaskState state);

// A task with all that is told of it.
struct TaskRows {
  state::TaskStanding task;
  std::vector<std::string> needs;
  std::optional<state::RunRow> run;

  static TaskRows read(state::Database& database, state::TaskStanding task);
};

struct CampaignRows {
  state::CampaignRow campaign;
  std::vector<TaskRows> tasks;

  static CampaignRows read(state::Database& database, state::CampaignRow campaign);
};

// For kApiResponse, kWebSocketFrame and kStateAtRest.
template <redaction::Boundary B>
void fillTask(const TaskRows& rows, actions::Outgoing<B, schema::Task> task);
enum class TasksAre { kCounted, kShown };
template <redaction::Boundary B>
void fillCampaign(const CampaignRows& rows, TasksAre tasks, actions::Outgoing<B, schema::Campaign> campaign);

}  // namespace factionos::broker
