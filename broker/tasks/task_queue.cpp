#include "broker/tasks/task_queue.h"

#include <algorithm>
#include <utility>

#include "broker/actions/ledger.h"
#include "broker/actions/view.h"
#include "broker/core/request_digest.h"
#include "broker/tasks/campaign_plan.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using actions::Refusal;
using audit::Code;
using audit::Label;
using schema::ProblemCode;
using schema::TaskState;
using state::Transaction;

std::optional<Refused> notContainer(schema::Executable::Reader executable) {
  if (view(executable.getKind()) == "container") return std::nullopt;
  return Refused{.code = ProblemCode::INVALID_REQUEST,
                 .detail = "The one kind of executable is container.",
                 .field = "executable.kind"};
}

// A row as the request asks for it, without its id and name.
template <typename Request>
Outcome<state::TaskRow> rowOf(const Core& core, const Caller& caller, Request request) {
  if (auto refused = notContainer(request.getExecutable())) return std::move(*refused);
  auto target =
      containerTarget(core.config, view(request.getWorkspace()), view(request.getExecutable().getTemplate()),
                      request.getNetworkProfile(), request.getTimeoutMs());
  if (auto* refused = std::get_if<Refused>(&target)) return std::move(*refused);
  const auto& found = std::get<ContainerTarget>(target);
  const auto now = audit::systemNow();
  return state::TaskRow{.name = found.label(),
                        .templateId = found.label(),
                        .workspace = Label::of(found.workspace->name),
                        .network = Code::of(actions::nameOf(found.network)),
                        .timeoutMs = request.getTimeoutMs(),
                        .principal = Label::of(caller.id()),
                        .created = now,
                        .updated = now};
}

void wantRoom(state::TaskTable& tasks, std::size_t more) {
  if (tasks.open() + more > TaskQueue::kMaxOpen)
    throw Refusal({.code = ProblemCode::RATE_LIMITED,
                   .detail = "So many tasks have not ended that no more are taken.",
                   .retryAfterMs = 5000});
  tasks.trim();
}

// Why a task of this state is not dispatched.
Refused notDispatched(const state::TaskStanding& task) {
  switch (stateOf(task)) {
    case TaskState::BLOCKED:
      return {.code = ProblemCode::RESOURCE_BUSY,
              .detail = "Tasks that this one needs have not succeeded.",
              .currentRevision = task.row.revision};
    case TaskState::WAITING:
    case TaskState::RUNNING:
      return {.code = ProblemCode::IN_FLIGHT,
              .detail = "The task has been dispatched already.",
              .currentRevision = task.row.revision,
              .retryAfterMs = idempotency::kRetryAfterMs};
    default:
      return {.code = ProblemCode::ALREADY_DECIDED,
              .detail = "The task has ended; a failed or cancelled one can be retried.",
              .currentRevision = task.row.revision};
  }
}

// The task becomes the action's, in the change that stores it: of two callers, whatever their keys, one does.
Effect::Also claim(std::string taskId, std::optional<std::uint64_t> expected) {
  return [taskId = std::move(taskId), expected](Transaction& transaction, const state::ActionRow& action) {
    state::TaskTable tasks(transaction.database());
    auto task = tasks.find(taskId);
    if (!task) throw Refusal({.code = ProblemCode::NOT_FOUND, .field = "id"});
    if (expected && task->row.revision != *expected)
      throw Refusal({.code = ProblemCode::STALE_REVISION,
                     .field = "expectedRevision",
                     .currentRevision = task->row.revision});
    if (stateOf(*task) != TaskState::QUEUED) throw Refusal(notDispatched(*task));
    task->row.actionId = action.id;
    task->row.updated = transaction.now();
    if (tasks.update(task->row) != state::UpdateResult::kUpdated)
      throw Refusal({.code = ProblemCode::STALE_REVISION, .currentRevision = task->row.revision});
    if (task->row.campaignId)
      state::CampaignTable(transaction.database()).touch(*task->row.campaignId, transaction.now());
  };
}

// What was cancelled while it waited for its approval does not begin.
void stillWanted(Transaction& transaction, const state::ActionRow& action) {
  const auto task = state::TaskTable(transaction.database()).findByAction(action.id);
  if (!task || task->row.cancelled)
    throw Refusal({.code = ProblemCode::ALREADY_DECIDED, .detail = "The task was cancelled."});
}

}  // namespace

audit::Record orderRecord(const char* operation, const char* result, const Label& requester,
                          const std::optional<Label>& target, const audit::Digest& request) {
  return {.family = Code::of("container"),
          .operation = Code::of(operation),
          .requester = requester,
          .decision = Code::of("none"),
          .idempotency = Code::of("done"),
          .result = Code::of(result),
          .target = target,
          .requestDigest = request};
}

std::optional<Refused> TaskQueue::blocked(const Caller& caller, const char* operation,
                                          const state::TaskRow& task) const {
  const auto decision = rules_.evaluate({.family = policy::Family::kContainer,
                                         .operation = operation,
                                         .workspace = task.workspace.text(),
                                         .principal = caller.principal.name,
                                         .program = policy::Program::none(),
                                         .network = task.network.text(),
                                         .profile = task.templateId.text()});
  if (decision.verdict != policy::Verdict::kDeny) return std::nullopt;
  return blockedBy(decision);
}

kj::Promise<ActionReply> TaskQueue::change(KeyedChange keyed, std::vector<std::string> kills) {
  return broker::change(core_, std::move(keyed))
      .then([this, kills = std::move(kills)](Outcome<StoredReply>&& outcome) -> ActionReply {
        if (auto* refused = std::get_if<Refused>(&outcome)) return std::move(*refused);
        for (const auto& task : kills) killOf(task);
        core_.changes.touch();
        return std::get<StoredReply>(std::move(outcome));
      });
}

void TaskQueue::killOf(std::string_view taskId) {
  const auto task = state::TaskTable(core_.reader).find(taskId);
  if (task && task->row.cancelled && task->row.actionId) containers_.kill(*task->row.actionId, "cancelled");
}

kj::Promise<ActionReply> TaskQueue::create(const Caller& caller, std::string key,
                                           schema::TaskCreate::Reader request) {
  auto made = rowOf(core_, caller, request);
  if (auto* refused = std::get_if<Refused>(&made)) return ActionReply(std::move(*refused));
  auto row = std::get<state::TaskRow>(std::move(made));
  if (request.hasName()) {
    const auto name = Label::parse(view(request.getName()));
    if (!name) return ActionReply(Refused{.code = ProblemCode::INVALID_LABEL, .field = "name"});
    row.name = *name;
  }
  if (auto refused = blocked(caller, "task", row)) return ActionReply(std::move(*refused));
  std::vector<std::string> needs;
  for (const auto id : request.getAfter()) needs.emplace_back(view(id));
  std::ranges::sort(needs);
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  row.id = core_.ids.next(state::IdKind::kTask);
  const auto digest = requestDigest(core_.keys, "task.create", request);
  return change({.principal = row.principal,
                 .key = std::move(key),
                 .request = digest,
                 .step = Step::kQueue,
                 .make = [row, needs, digest](Transaction& transaction) -> StoredReply {
                   state::TaskTable tasks(transaction.database());
                   wantRoom(tasks, 1);
                   tasks.insert(row);
                   for (const auto& each : needs) {
                     if (!tasks.find(each))
                       throw Refusal({.code = ProblemCode::NOT_FOUND,
                                      .detail = "A task that this one is to wait for is not there.",
                                      .field = "after[]"});
                     tasks.need(row.id, each);
                   }
                   actions::note(transaction,
                                 orderRecord("task", "queued", row.principal,
                                             actions::targetOf(row.workspace.text(), row.name), digest));
                   const auto rows = TaskRows::read(transaction.database(), *tasks.find(row.id));
                   return {.status = 201,
                           .bytes = encodeReply<schema::Api::TaskCreateResults>([&](auto results) {
                             fillTask(rows, results.init(&schema::Api::TaskCreateResults::Builder::initTask));
                           })};
                 }});
}

kj::Promise<ActionReply> TaskQueue::createCampaign(const Caller& caller, std::string key,
                                                   schema::CampaignCreate::Reader request) {
  const auto name = Label::parse(view(request.getName()));
  if (!name) return ActionReply(Refused{.code = ProblemCode::INVALID_LABEL, .field = "name"});
  auto planned = campaignPlan(request.getTasks());
  if (auto* refused = std::get_if<Refused>(&planned)) return ActionReply(std::move(*refused));
  const auto now = audit::systemNow();
  const state::CampaignRow campaign{.id = core_.ids.next(state::IdKind::kCampaign),
                                    .name = *name,
                                    .principal = Label::of(caller.id()),
                                    .created = now,
                                    .updated = now};
  std::vector<state::TaskRow> rows;
  for (const auto each : request.getTasks()) {
    auto made = rowOf(core_, caller, each);
    if (auto* refused = std::get_if<Refused>(&made)) return ActionReply(std::move(*refused));
    auto row = std::get<state::TaskRow>(std::move(made));
    if (auto refused = blocked(caller, "campaign", row)) return ActionReply(std::move(*refused));
    row.id = core_.ids.next(state::IdKind::kTask);
    row.name = Label::of(view(each.getName()));
    row.campaignId = campaign.id;
    rows.push_back(std::move(row));
  }
  const auto digest = requestDigest(core_.keys, "campaign.create", request);
  const auto make = [campaign, rows = std::move(rows), plan = std::get<CampaignPlan>(std::move(planned)),
                     digest](Transaction& transaction) -> StoredReply {
    state::TaskTable tasks(transaction.database());
    wantRoom(tasks, rows.size());
    state::CampaignTable(transaction.database()).insert(campaign);
    for (const auto& row : rows) tasks.insert(row);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const auto need : plan.needs[i]) tasks.need(rows[i].id, rows[need].id);
    }
    actions::note(transaction, orderRecord("campaign", "queued", campaign.principal, campaign.name, digest));
    const auto made = CampaignRows::read(transaction.database(), campaign);
    return {.status = 201, .bytes = encodeReply<schema::Api::CampaignCreateResults>([&](auto results) {
                             fillCampaign(
                                 made, TasksAre::kShown,
                                 results.init(&schema::Api::CampaignCreateResults::Builder::initCampaign));
                           })};
  };
  return change({.principal = campaign.principal,
                 .key = std::move(key),
                 .request = digest,
                 .step = Step::kQueue,
                 .make = make});
}

Outcome<RunRequest> TaskQueue::runOf(const state::TaskRow& task) const {
  auto target = containerTarget(core_.config, task.workspace.text(), task.templateId.text(),
                                actions::networkFrom(task.network.text()), task.timeoutMs);
  if (auto* refused = std::get_if<Refused>(&target)) return std::move(*refused);
  return RunRequest{.target = std::get<ContainerTarget>(target),
                    .digest = {},
                    .locks = {"task:" + task.id},
                    .onProposal = {},
                    .onIntent = stillWanted};
}

kj::Promise<ActionReply> TaskQueue::dispatch(const Caller& caller, std::string key,
                                             schema::Dispatch::Reader request) {
  const auto task = state::TaskTable(core_.reader).find(view(request.getId()));
  if (!task) return ActionReply(Refused{.code = ProblemCode::NOT_FOUND, .field = "id"});
  auto asked = runOf(task->row);
  if (auto* refused = std::get_if<Refused>(&asked)) return ActionReply(std::move(*refused));
  auto run = std::get<RunRequest>(std::move(asked));
  run.digest = requestDigest(core_.keys, "task.dispatch", request);
  run.onProposal = claim(task->row.id, request.getExpectedRevision());
  auto approval = request.hasApproval() ? Approved::from(request.getApproval()) : std::nullopt;
  return containers_.carryOut(caller, std::move(key), std::move(approval), std::move(run));
}

kj::Promise<ActionReply> TaskQueue::dispatchCampaign(const Caller& caller, std::string key,
                                                     schema::Dispatch::Reader request) {
  const auto campaign = findCampaign(view(request.getId()));
  if (!campaign || campaign->tasks.empty())
    return ActionReply(Refused{.code = ProblemCode::NOT_FOUND, .field = "id"});
  // With the approval, the task that it was given for; else the first that may be dispatched. A repeat is
  // answered by its key alone, whatever is chosen.
  const auto chosen = std::ranges::find_if(campaign->tasks, [&request](const TaskRows& each) {
    if (!request.hasApproval()) return stateOf(each.task) == TaskState::QUEUED;
    return each.task.row.actionId && *each.task.row.actionId == view(request.getApproval().getActionId());
  });
  const auto& task = chosen == campaign->tasks.end() ? campaign->tasks.front() : *chosen;
  auto asked = runOf(task.task.row);
  if (auto* refused = std::get_if<Refused>(&asked)) return ActionReply(std::move(*refused));
  auto run = std::get<RunRequest>(std::move(asked));
  run.digest = requestDigest(core_.keys, "campaign.dispatch", request);
  run.onProposal = [campaignId = campaign->campaign.id, expected = request.getExpectedRevision(),
                    take = claim(task.task.row.id, std::nullopt)](Transaction& transaction,
                                                                  const state::ActionRow& action) {
    const auto now = state::CampaignTable(transaction.database()).find(campaignId);
    if (!now || now->revision != expected)
      throw Refusal({.code = ProblemCode::STALE_REVISION,
                     .field = "expectedRevision",
                     .currentRevision = now ? now->revision : 0U});
    take(transaction, action);
  };
  auto approval = request.hasApproval() ? Approved::from(request.getApproval()) : std::nullopt;
  return containers_.carryOut(caller, std::move(key), std::move(approval), std::move(run));
}

std::optional<TaskRows> TaskQueue::find(std::string_view id) const {
  auto task = state::TaskTable(core_.reader).find(id);
  if (!task) return std::nullopt;
  return TaskRows::read(core_.reader, std::move(*task));
}

std::optional<CampaignRows> TaskQueue::findCampaign(std::string_view id) const {
  auto campaign = state::CampaignTable(core_.reader).find(id);
  if (!campaign) return std::nullopt;
  return CampaignRows::read(core_.reader, std::move(*campaign));
}

std::vector<TaskRows> TaskQueue::list(const state::TaskFilter& filter, std::string_view before,
                                      std::size_t limit) const {
  std::vector<TaskRows> rows;
  for (auto& task : state::TaskTable(core_.reader).list(filter, before, limit))
    rows.push_back(TaskRows::read(core_.reader, std::move(task)));
  return rows;
}

std::vector<CampaignRows> TaskQueue::listCampaigns(std::string_view before, std::size_t limit) const {
  std::vector<CampaignRows> rows;
  for (auto& campaign : state::CampaignTable(core_.reader).list(before, limit))
    rows.push_back(CampaignRows::read(core_.reader, std::move(campaign)));
  return rows;
}

}  // namespace factionos::broker
