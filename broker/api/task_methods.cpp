// The methods of tasks and campaigns: between schema and queue.
#include <algorithm>

#include "broker/api/answers.h"
#include "broker/api/api_service.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using actions::reply;
using redaction::Boundary;
using Redactor = redaction::Redactor<Boundary::kApiResponse>;
using schema::ProblemCode;

}  // namespace

// Passes the request on and answers with what came of it.
template <typename Context, typename Give>
kj::Promise<void> ApiService::give(Context context, Give method) {
  const auto params = context.getParams();
  std::string key = params.getCall().getIdempotencyKey().cStr();
  return (services_.tasks.*method)(caller_, std::move(key), params.getRequest())
      .then([this, context](ActionReply&& outcome) mutable { answerAction(context, kj::mv(outcome)); });
}

// Whether policy lets the caller see entries of this workspace.
bool ApiService::maySee(const state::TaskRow& task) const {
  return !services_.rules.refusedRead({.family = policy::Family::kContainer,
                                       .operation = "list",
                                       .workspace = task.workspace.text(),
                                       .principal = caller_.principal.name,
                                       .program = policy::Program::none(),
                                       .network = task.network.text(),
                                       .profile = task.templateId.text()});
}

bool ApiService::maySee(const CampaignRows& campaign) const {
  return std::ranges::all_of(campaign.tasks, [this](const TaskRows& each) { return maySee(each.task.row); });
}

kj::Promise<void> ApiService::taskCreate(TaskCreateContext context) {
  return give(context, &TaskQueue::create);
}
kj::Promise<void> ApiService::taskDispatch(TaskDispatchContext context) {
  return give(context, &TaskQueue::dispatch);
}
kj::Promise<void> ApiService::taskCancel(TaskCancelContext context) {
  return give(context, &TaskQueue::cancel);
}
kj::Promise<void> ApiService::taskRetry(TaskRetryContext context) {
  return give(context, &TaskQueue::retry);
}
kj::Promise<void> ApiService::campaignCreate(CampaignCreateContext context) {
  return give(context, &TaskQueue::createCampaign);
}
kj::Promise<void> ApiService::campaignDispatch(CampaignDispatchContext context) {
  return give(context, &TaskQueue::dispatchCampaign);
}
kj::Promise<void> ApiService::campaignCancel(CampaignCancelContext context) {
  return give(context, &TaskQueue::cancelCampaign);
}

kj::Promise<void> ApiService::taskList(TaskListContext context) {
  const auto request = context.getParams().getRequest();
  state::TaskFilter filter;
  if (request.hasCampaign()) filter.campaignId = std::string(view(request.getCampaign()));
  const auto all = services_.tasks.list(filter, view(request.getAfter()), request.getLimit());
  std::vector<const TaskRows*> rows;
  for (const auto& each : all) {
    if (maySee(each.task.row)) rows.push_back(&each);
  }
  using R = ResultsOf<TaskListContext>;
  auto results = reply<Boundary::kApiResponse>(context);
  auto list = results.init(&R::initTasks, rows.size());
  for (unsigned i = 0; i < rows.size(); ++i) fillTask(*rows[i], list[i]);
  if (all.size() == request.getLimit())
    results.set(&R::setNext, Redactor::label(actions::idLabel(all.back().task.row.id)));
  return kj::READY_NOW;
}

kj::Promise<void> ApiService::taskGet(TaskGetContext context) {
  const auto task = services_.tasks.find(view(context.getParams().getRequest().getId()));
  if (!task || !maySee(task->task.row)) {
    refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
  } else {
    fillTask(*task, reply<Boundary::kApiResponse>(context).init(&ResultsOf<TaskGetContext>::initTask));
  }
  return kj::READY_NOW;
}

kj::Promise<void> ApiService::campaignList(CampaignListContext context) {
  const auto request = context.getParams().getRequest();
  const auto limit = std::min<std::size_t>(request.getLimit(), state::CampaignTable::kMaxPage);
  const auto all = services_.tasks.listCampaigns(view(request.getAfter()), limit);
  std::vector<const CampaignRows*> rows;
  for (const auto& each : all) {
    if (maySee(each)) rows.push_back(&each);
  }
  using R = ResultsOf<CampaignListContext>;
  auto results = reply<Boundary::kApiResponse>(context);
  auto list = results.init(&R::initCampaigns, rows.size());
  for (unsigned i = 0; i < rows.size(); ++i) fillCampaign(*rows[i], TasksAre::kCounted, list[i]);
  if (all.size() == limit)
    results.set(&R::setNext, Redactor::label(actions::idLabel(all.back().campaign.id)));
  return kj::READY_NOW;
}

kj::Promise<void> ApiService::campaignGet(CampaignGetContext context) {
  const auto campaign = services_.tasks.findCampaign(view(context.getParams().getRequest().getId()));
  if (!campaign || !maySee(*campaign)) {
    refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
  } else {
    fillCampaign(*campaign, TasksAre::kShown,
                 reply<Boundary::kApiResponse>(context).init(&ResultsOf<CampaignGetContext>::initCampaign));
  }
  return kj::READY_NOW;
}

}  // namespace factionos::broker
