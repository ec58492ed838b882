#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kj/async.h>

#include "broker/core/rule_book.h"
#include "broker/executors/container_executor.h"
#include "broker/tasks/task_view.h"

namespace factionos::broker {

// Tasks and campaigns: entries of the state that say what is to be run, and when it may be. What runs them is
// ContainerExecutor's action, with its policy, approval and idempotency; nothing here reaches an engine.
class TaskQueue {
 public:
  TaskQueue(Core& core, RuleBook& rules, ContainerExecutor& containers)
      : core_(core), rules_(rules), containers_(containers) {}

  static constexpr std::uint64_t kMaxOpen = 1000;  // tasks that have not ended

  kj::Promise<ActionReply> create(const Caller& caller, std::string key, schema::TaskCreate::Reader request);
  kj::Promise<ActionReply> createCampaign(const Caller& caller, std::string key,
                                          schema::CampaignCreate::Reader request);
  // 201 with the run or 202 with its action, as ContainerExecutor::run().
  kj::Promise<ActionReply> dispatch(const Caller& caller, std::string key, schema::Dispatch::Reader request);
  kj::Promise<ActionReply> dispatchCampaign(const Caller& caller, std::string key,
                                            schema::Dispatch::Reader request);
  kj::Promise<ActionReply> cancel(const Caller& caller, std::string key, schema::Order::Reader request);
  kj::Promise<ActionReply> retry(const Caller& caller, std::string key, schema::Order::Reader request);
  kj::Promise<ActionReply> cancelCampaign(const Caller& caller, std::string key,
                                          schema::Order::Reader request);

  std::optional<TaskRows> find(std::string_view id) const;
  std::optional<CampaignRows> findCampaign(std::string_view id) const;
  std::vector<TaskRows> list(const state::TaskFilter& filter, std::string_view before,
                             std::size_t limit) const;
  std::vector<CampaignRows> listCampaigns(std::string_view before, std::size_t limit) const;

 private:
  std::optional<Refused> blocked(const Caller& caller, const char* operation,
                                 const state::TaskRow& task) const;
  Outcome<RunRequest> runOf(const state::TaskRow& task) const;
  kj::Promise<ActionReply> change(KeyedChange keyed, std::vector<std::string> kills = {});
  void killOf(std::string_view taskId);

  Core& core_;
  RuleBook& rules_;
  ContainerExecutor& containers_;
};

// Record of an order to the queue, for the audit.
audit::Record orderRecord(const char* operation, const char* result, const audit::Label& requester,
                          const std::optional<audit::Label>& target, const audit::Digest& request);

}  // namespace factionos::broker
