// Orders to tasks and campaigns that run nothing: cancel and retry.
#include "broker/actions/ledger.h"
#include "broker/actions/view.h"
#include "broker/core/request_digest.h"
#include "broker/tasks/task_queue.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using actions::Refusal;
using audit::Label;
using schema::ProblemCode;
using schema::TaskState;
using state::Transaction;

// Who queued it, and who dispatched it: nobody else ends or repeats it.
void wantOwner(Transaction& transaction, const state::TaskRow& task, const Label& caller) {
  if (task.principal == caller) return;
  if (task.actionId) {
    const auto action = state::ActionTable(transaction.database()).find(*task.actionId);
    if (action && action->principal == caller) return;
  }
  throw Refusal(
      {.code = ProblemCode::FORBIDDEN, .detail = "Only who queued or dispatched the task may do that."});
}

void wantRevision(std::uint64_t current, std::uint64_t expected) {
  if (current == expected) return;
  throw Refusal(
      {.code = ProblemCode::STALE_REVISION, .field = "expectedRevision", .currentRevision = current});
}

void store(Transaction& transaction, state::TaskRow& row) {
  row.updated = transaction.now();
  if (state::TaskTable(transaction.database()).update(row) != state::UpdateResult::kUpdated)
    throw Refusal({.code = ProblemCode::STALE_REVISION, .currentRevision = row.revision});
}

enum class Ordered { kDone, kNothingToDo };

// What has ended stays as it is.
Ordered cancelOne(Transaction& transaction, state::TaskStanding& task) {
  const auto state = stateOf(task);
  if (hasEnded(state) || state == TaskState::UNKNOWN || task.row.cancelled) return Ordered::kNothingToDo;
  task.row.cancelled = true;
  store(transaction, task.row);
  return Ordered::kDone;
}

Ordered requeue(Transaction& transaction, state::TaskStanding& task) {
  const auto state = stateOf(task);
  if (state != TaskState::FAILED && state != TaskState::CANCELLED)
    throw Refusal({.code = ProblemCode::ALREADY_DECIDED,
                   .detail = "Only a failed or cancelled task is retried.",
                   .currentRevision = task.row.revision});
  ++task.row.attempt;
  task.row.actionId.reset();
  task.row.cancelled = false;
  store(transaction, task.row);
  return Ordered::kDone;
}

struct OrderTo {
  std::string id;
  std::uint64_t expected = 0;
  Label caller;
  audit::Digest digest;
  const char* result;  // for the record
};

const char* resultOf(const OrderTo& order, Ordered ordered) {
  return ordered == Ordered::kDone ? order.result : "unchanged";
}

StoredReply orderTask(Transaction& transaction, const OrderTo& order,
                      Ordered (*change)(Transaction&, state::TaskStanding&)) {
  state::TaskTable tasks(transaction.database());
  auto task = tasks.find(order.id);
  if (!task) throw Refusal({.code = ProblemCode::NOT_FOUND, .field = "id"});
  wantOwner(transaction, task->row, order.caller);
  wantRevision(task->row.revision, order.expected);
  const auto ordered = change(transaction, *task);
  if (ordered == Ordered::kDone && task->row.campaignId)
    state::CampaignTable(transaction.database()).touch(*task->row.campaignId, transaction.now());
  actions::note(transaction,
                orderRecord("task", resultOf(order, ordered), order.caller,
                            actions::targetOf(task->row.workspace.text(), task->row.name), order.digest));
  const auto rows = TaskRows::read(transaction.database(), *tasks.find(order.id));
  // The results of retry are those of cancel, field by field.
  return {.status = 200, .bytes = encodeReply<schema::Api::TaskCancelResults>([&rows](auto results) {
                           fillTask(rows, results.init(&schema::Api::TaskCancelResults::Builder::initTask));
                         })};
}

StoredReply cancelAll(Transaction& transaction, const OrderTo& order) {
  state::CampaignTable campaigns(transaction.database());
  const auto campaign = campaigns.find(order.id);
  if (!campaign) throw Refusal({.code = ProblemCode::NOT_FOUND, .field = "id"});
  if (campaign->principal != order.caller)
    throw Refusal({.code = ProblemCode::FORBIDDEN, .detail = "Only who made the campaign may do that."});
  wantRevision(campaign->revision, order.expected);
  auto ordered = Ordered::kNothingToDo;
  for (auto& task : state::TaskTable(transaction.database()).ofCampaign(order.id))
    if (cancelOne(transaction, task) == Ordered::kDone) ordered = Ordered::kDone;
  if (ordered == Ordered::kDone) campaigns.touch(order.id, transaction.now());
  actions::note(transaction, orderRecord("campaign", resultOf(order, ordered), order.caller, campaign->name,
                                         order.digest));
  const auto rows = CampaignRows::read(transaction.database(), *campaigns.find(order.id));
  return {.status = 200, .bytes = encodeReply<schema::Api::CampaignCancelResults>([&rows](auto results) {
                           fillCampaign(
                               rows, TasksAre::kShown,
                               results.init(&schema::Api::CampaignCancelResults::Builder::initCampaign));
                         })};
}

OrderTo orderOf(const Core& core, const Caller& caller, const char* operation, const char* result,
                schema::Order::Reader request) {
  return {.id = std::string(view(request.getId())),
          .expected = request.getExpectedRevision(),
          .caller = Label::of(caller.id()),
          .digest = requestDigest(core.keys, operation, request),
          .result = result};
}

}  // namespace

kj::Promise<ActionReply> TaskQueue::cancel(const Caller& caller, std::string key,
                                           schema::Order::Reader request) {
  const auto order = orderOf(core_, caller, "task.cancel", "cancelled", request);
  return change(
      {.principal = order.caller,
       .key = std::move(key),
       .request = order.digest,
       .step = Step::kQueue,
       .make = [order](Transaction& transaction) { return orderTask(transaction, order, cancelOne); }},
      {order.id});
}

kj::Promise<ActionReply> TaskQueue::retry(const Caller& caller, std::string key,
                                          schema::Order::Reader request) {
  const auto order = orderOf(core_, caller, "task.retry", "queued", request);
  return change(
      {.principal = order.caller,
       .key = std::move(key),
       .request = order.digest,
       .step = Step::kQueue,
       .make = [order](Transaction& transaction) { return orderTask(transaction, order, requeue); }});
}

kj::Promise<ActionReply> TaskQueue::cancelCampaign(const Caller& caller, std::string key,
                                                   schema::Order::Reader request) {
  const auto order = orderOf(core_, caller, "campaign.cancel", "cancelled", request);
  std::vector<std::string> kills;
  for (const auto& task : state::TaskTable(core_.reader).ofCampaign(order.id)) kills.push_back(task.row.id);
  return change({.principal = order.caller,
                 .key = std::move(key),
                 .request = order.digest,
                 .step = Step::kQueue,
                 .make = [order](Transaction& transaction) { return cancelAll(transaction, order); }},
                std::move(kills));
}

}  // namespace factionos::broker
