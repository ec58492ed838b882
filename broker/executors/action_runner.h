#pragma once

#include <optional>
#include <string>

#include <kj/async.h>

#include "broker/core/action_book.h"
#include "broker/core/locks.h"
#include "broker/core/rule_book.h"
#include "broker/executors/effect.h"
#include "broker/executors/executor_table.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// An outcome that can't be recorded is tried again: until then the action stays `executing` and no caller
// hears of an end.
inline constexpr auto kRecordRetry = 1 * kj::SECONDS;

// The approval that a repeated request brings along.
struct Approved {
  std::string actionId;
  std::uint64_t expectedRevision = 0;

  static std::optional<Approved> from(schema::Approval::Reader approval);
};

struct Preview {
  state::ActionRow row;  // as it would be proposed; not stored
  policy::Decision decision;
};

// Something that only reads. Policy allows or denies it; there is no key, and nothing is asked.
struct Reading {
  const policy::Operation& operation;
  policy::Subject subject;  // the runner adds the principal
  audit::Label target;
};

class ActionFlow;

// Carries guarded actions of all families through their one life:
//
//   validate → key → prepare (a dry run) → policy
//     deny  → recorded, 403
//     ask   → action proposed, 202 … the caller comes again with the approval
//     allow → action approved
//   approval → same key, same request, same policy, same basis → intent durable → effect → outcome durable →
//   answer
//
// A flow is the broker's and not the caller's: a client that leaves cancels nothing, or intent would be left
// without its outcome.
class ActionRunner final : private kj::TaskSet::ErrorHandler {
 public:
  ActionRunner(Core& core, ActionBook& actions, RuleBook& rules, const ExecutorTable& executors);
  ~ActionRunner() noexcept(false);

  kj::Promise<ActionReply> carryOut(const Caller& caller, std::string key, std::optional<Approved> approval,
                                    kj::Own<Effect> effect);
  // What `effect` would be answered with; stores and runs nothing. `as`: the operation that policy is asked
  // for leave to look.
  kj::Promise<Outcome<Preview>> preview(const Caller& caller, kj::Own<Effect> effect, const char* as);

  // Whether `caller` may read this now. A denial is recorded.
  kj::Promise<std::optional<Refused>> mayRead(const Caller& caller, const Reading& reading);
  // Content is about to be handed out: `bytes` of it. To be awaited before it is.
  kj::Promise<std::optional<Refused>> recordRead(const Caller& caller, const Reading& reading,
                                                 std::uint64_t bytes);

  // Asks about every action of `family` whose outcome a crash hid. Once, before anything is served.
  kj::Promise<void> reconcile(policy::Family family, Reconciler& reconciler);

  // No more requests are taken.
  void close() { closing_ = true; }
  // Resolves when nothing is under way.
  kj::Promise<void> idle() { return tasks_->onEmpty(); }
  // Drops what is under way: effects work with their executors, which go before this.
  void abandon() { tasks_ = nullptr; }

 private:
  friend class ActionFlow;
  void taskFailed(kj::Exception&& exception) override;
  kj::Promise<void> reconcileFrom(std::vector<state::ActionRow> rows, std::size_t index,
                                  Reconciler& reconciler);

  Core& core_;
  ActionBook& actions_;
  RuleBook& rules_;
  const ExecutorTable& executors_;
  KeysUnderWay keys_;
  ResourceLocks locks_;
  bool closing_ = false;
  kj::Own<kj::TaskSet> tasks_;
};

}  // namespace factionos::broker
