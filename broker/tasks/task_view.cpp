#include "broker/tasks/task_view.h"

#include <algorithm>
#include <array>

#include "broker/actions/view.h"
#include "broker/executors/run_view.h"

namespace factionos::broker {
namespace {

using actions::Outgoing;
using audit::Code;
using redaction::Boundary;
using redaction::Literal;
using redaction::Redactor;
using schema::TaskState;
using state::ActionState;

struct StateRow {
  TaskState state;
  Literal name;
};
// What a campaign's state is: the first of these that one of its tasks has.
constexpr std::array kStates{
    StateRow{TaskState::FAILED, "failed"},       StateRow{TaskState::UNKNOWN, "unknown"},
    StateRow{TaskState::RUNNING, "running"},     StateRow{TaskState::WAITING, "waiting"},
    StateRow{TaskState::QUEUED, "queued"},       StateRow{TaskState::BLOCKED, "blocked"},
    StateRow{TaskState::CANCELLED, "cancelled"}, StateRow{TaskState::SUCCEEDED, "succeeded"},
};

std::optional<Code> reasonOf(const state::TaskStanding& task, TaskState state) {
  if (state == TaskState::BLOCKED) return Code::of(task.needsFailed != 0 ? "needs_failed" : "needs_unmet");
  if (state == TaskState::CANCELLED) return Code::of("cancelled");
  if (state != TaskState::FAILED && state != TaskState::UNKNOWN) return std::nullopt;
  if (task.failure) return task.failure;
  return Code::of(state::nameOf(task.action.value_or(ActionState::kFailed)));
}

Recovery recoveryFor(const state::TaskStanding& task, TaskState state) {
  switch (state) {
    case TaskState::BLOCKED:
      if (task.needsFailed != 0)
        return {false, "A task that this one needs has failed: retry that one first."};
      return {true, "It can be dispatched when the tasks that it needs have succeeded."};
    case TaskState::CANCELLED:
      return {true, "It was cancelled; retry queues it again."};
    case TaskState::FAILED: {
      // Whatever the cause, another attempt is the caller's to make.
      auto recovery = recoveryOf(*task.action, task.failure ? task.failure->text() : std::string_view());
      recovery.retryable = true;
      return recovery;
    }
    case TaskState::UNKNOWN:
      return recoveryOf(ActionState::kUnknown, {});
    default:
      return {};
  }
}

}  // namespace

TaskState stateOf(const state::TaskStanding& task) {
  if (task.action) {
    switch (*task.action) {
      case ActionState::kExecuting:
        return TaskState::RUNNING;
      case ActionState::kSucceeded:
        return TaskState::SUCCEEDED;
      case ActionState::kUnknown:
        return TaskState::UNKNOWN;
      default:
        break;
    }
  }
  if (task.row.cancelled) return TaskState::CANCELLED;
  if (!task.action) return task.needsUnmet == 0 ? TaskState::QUEUED : TaskState::BLOCKED;
  const bool waits = *task.action == ActionState::kProposed || *task.action == ActionState::kApproved;
  return waits ? TaskState::WAITING : TaskState::FAILED;
}

bool hasEnded(TaskState state) {
  return state == TaskState::SUCCEEDED || state == TaskState::FAILED || state == TaskState::CANCELLED;
}

TaskRows TaskRows::read(state::Database& database, state::TaskStanding task) {
  TaskRows rows{.task = std::move(task)};
  if (rows.task.needs != 0) rows.needs = state::TaskTable(database).needsOf(rows.task.row.id);
  if (rows.task.row.actionId) rows.run = state::RunTable(database).find(*rows.task.row.actionId);
  return rows;
}

CampaignRows CampaignRows::read(state::Database& database, state::CampaignRow campaign) {
  CampaignRows rows{.campaign = std::move(campaign)};
  for (auto& task : state::TaskTable(database).ofCampaign(rows.campaign.id))
    rows.tasks.push_back(TaskRows::read(database, std::move(task)));
  return rows;
}

template <Boundary B>
void fillTask(const TaskRows& rows, Outgoing<B, schema::Task> out) {
  using T = schema::Task::Builder;
  using R = Redactor<B>;
  using redaction::Category;
  const auto& row = rows.task.row;
  const auto state = stateOf(rows.task);
  out.set(&T::setId, R::label(actions::idLabel(row.id)));
  out.set(&T::setRevision, std::uint64_t{row.revision});
  out.set(&T::setState, state);
  out.set(&T::setName, R::label(row.name));
  if (row.campaignId) out.set(&T::setCampaignId, R::label(actions::idLabel(*row.campaignId)));
  out.set(&T::setWorkspace, R::label(row.workspace));
  auto executable = out.init(&T::initExecutable);
  executable.set(&schema::Executable::Builder::setKind, R::words("container"));
  executable.set(&schema::Executable::Builder::setTemplate, R::label(row.templateId));
  out.set(&T::setNetworkProfile, actions::networkFrom(row.network.text()));
  out.set(&T::setRequester, R::label(row.principal));
  out.set(&T::setAttempt, row.attempt);
  if (row.actionId) {
    out.set(&T::setActionId, R::label(actions::idLabel(*row.actionId)));
    if (rows.run) out.set(&T::setRunId, R::label(actions::idLabel(state::runIdOf(*row.actionId))));
  }
  if (rows.run) {
    out.set(&T::setRuntime, R::code(rows.run->runtime));
    out.set(&T::setCleanup, R::code(rows.run->cleanup));
  }
  if (const auto reason = reasonOf(rows.task, state)) out.set(&T::setReason, R::code(*reason));
  const auto recovery = recoveryFor(rows.task, state);
  out.set(&T::setRetryable, recovery.retryable);
  if (!recovery.sentence.empty()) out.set(&T::setRecovery, R::words(recovery.sentence));
  auto after = out.init(&T::initAfter, rows.needs.size());
  for (unsigned i = 0; i < rows.needs.size(); ++i) after.set(i, R::label(actions::idLabel(rows.needs[i])));
  out.set(&T::setCreatedAt, actions::millis(row.created));
  out.set(&T::setUpdatedAt, actions::millis(row.updated));
}

template <Boundary B>
void fillCampaign(const CampaignRows& rows, TasksAre tasks, Outgoing<B, schema::Campaign> out) {
  using C = schema::Campaign::Builder;
  using R = Redactor<B>;
  out.set(&C::setId, R::label(actions::idLabel(rows.campaign.id)));
  out.set(&C::setRevision, std::uint64_t{rows.campaign.revision});
  out.set(&C::setName, R::label(rows.campaign.name));
  out.set(&C::setRequester, R::label(rows.campaign.principal));
  out.set(&C::setCreatedAt, actions::millis(rows.campaign.created));
  out.set(&C::setUpdatedAt, actions::millis(rows.campaign.updated));
  std::vector<std::pair<const StateRow*, std::uint64_t>> counts;
  for (const auto& each : kStates) {
    const auto count = std::ranges::count_if(
        rows.tasks, [&each](const TaskRows& task) { return stateOf(task.task) == each.state; });
    if (count != 0) counts.emplace_back(&each, static_cast<std::uint64_t>(count));
  }
  if (!counts.empty()) out.set(&C::setState, counts.front().first->state);
  auto list = out.init(&C::initCounts, counts.size());
  for (unsigned i = 0; i < counts.size(); ++i) {
    list[i].set(&schema::ChangeCount::Builder::setName, R::words(counts[i].first->name));
    list[i].set(&schema::ChangeCount::Builder::setCount, counts[i].second);
  }
  if (tasks == TasksAre::kCounted) return;
  auto shown = out.init(&C::initTasks, rows.tasks.size());
  for (unsigned i = 0; i < rows.tasks.size(); ++i) fillTask(rows.tasks[i], shown[i]);
}

template void fillTask(const TaskRows&, Outgoing<Boundary::kApiResponse, schema::Task>);
template void fillTask(const TaskRows&, Outgoing<Boundary::kWebSocketFrame, schema::Task>);
template void fillTask(const TaskRows&, Outgoing<Boundary::kStateAtRest, schema::Task>);
template void fillCampaign(const CampaignRows&, TasksAre, Outgoing<Boundary::kApiResponse, schema::Campaign>);
template void fillCampaign(const CampaignRows&, TasksAre, Outgoing<Boundary::kStateAtRest, schema::Campaign>);

}  // namespace factionos::broker
