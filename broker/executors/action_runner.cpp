#include "broker/executors/action_runner.h"

#include <utility>

#include "broker/actions/ledger.h"
#include "broker/actions/view.h"
#include "broker/core/log.h"
#include "broker/executors/action_flow.h"

namespace factionos::broker {
namespace {

using audit::Code;
using audit::Label;

audit::Record recordOf(const Caller& caller, const Reading& reading, const char* decision,
                       const char* result) {
  return {.family = Code::of(policy::label(reading.operation.family)),
          .operation = Code::of(reading.operation.name),
          .requester = Label::of(caller.id()),
          .decision = Code::of(decision),
          .idempotency = Code::of("none"),
          .result = Code::of(result),
          .target = actions::targetOf(reading.subject.workspace, reading.target)};
}

kj::Promise<std::optional<Refused>> keep(Core& core, audit::Record record, std::optional<Refused> then) {
  return commit<bool>(core, Step::kRead,
                      [record](state::Transaction& transaction) {
                        actions::note(transaction, record);
                        return true;
                      })
      .then([then](Outcome<bool>&& outcome) -> std::optional<Refused> {
        if (const auto* refused = refusedIn(outcome)) return *refused;
        return then;
      });
}

// What the broker that lived on has noted as the cause; a crash leaves nobody to note one.
Code failureOf(const state::ActionRow& unknown) {
  const auto noted = unknown.failure.value_or(Code::of("outcome_unknown"));
  return noted.text() == "outcome_unknown" ? Code::of("lost_in_crash") : noted;
}

}  // namespace

std::optional<Approved> Approved::from(schema::Approval::Reader approval) {
  return Approved{.actionId = approval.getActionId().cStr(),
                  .expectedRevision = approval.getExpectedRevision()};
}

ActionRunner::ActionRunner(Core& core, ActionBook& actions, RuleBook& rules, const ExecutorTable& executors)
    : core_(core),
      actions_(actions),
      rules_(rules),
      executors_(executors),
      tasks_(kj::heap<kj::TaskSet>(static_cast<kj::TaskSet::ErrorHandler&>(*this))) {}

ActionRunner::~ActionRunner() noexcept(false) = default;

kj::Promise<ActionReply> ActionRunner::carryOut(const Caller& caller, std::string key,
                                                std::optional<Approved> approval, kj::Own<Effect> effect) {
  auto flow = kj::refcounted<ActionFlow>(*this, caller, std::move(approval), kj::mv(effect));
  auto paf = kj::newPromiseAndFulfiller<ActionReply>();
  auto shared = std::make_shared<kj::Own<kj::PromiseFulfiller<ActionReply>>>(kj::mv(paf.fulfiller));
  auto done = flow->answer(std::move(key))
                  .then([shared](ActionReply&& reply) { (*shared)->fulfill(kj::mv(reply)); },
                        [shared](kj::Exception&& exception) { (*shared)->reject(kj::mv(exception)); });
  tasks_->add(done.attach(kj::mv(flow)));
  return kj::mv(paf.promise);
}

kj::Promise<Outcome<Preview>> ActionRunner::preview(const Caller& caller, kj::Own<Effect> effect,
                                                    const char* as) {
  auto flow = kj::refcounted<ActionFlow>(*this, caller, std::nullopt, kj::mv(effect));
  auto promise = flow->preview(as);
  return promise.attach(kj::mv(flow));
}

kj::Promise<std::optional<Refused>> ActionRunner::mayRead(const Caller& caller, const Reading& reading) {
  if (closing_)
    return std::optional<Refused>(Refused{.code = schema::ProblemCode::SHUTTING_DOWN, .retryAfterMs = 1000});
  if (auto unready = executors_.whyNot(reading.operation.family))
    return std::optional<Refused>(std::move(unready->refused));
  auto subject = reading.subject;
  subject.principal = caller.principal.name;
  auto blocked = rules_.refusedRead(std::move(subject));
  if (!blocked) return std::optional<Refused>();
  return keep(core_, recordOf(caller, reading, "deny", "denied"), std::move(blocked));
}

kj::Promise<std::optional<Refused>> ActionRunner::recordRead(const Caller& caller, const Reading& reading,
                                                             std::uint64_t bytes) {
  auto record = recordOf(caller, reading, "allow", "done");
  record.counts.bytesOut = bytes;
  return keep(core_, std::move(record), std::nullopt);
}

kj::Promise<void> ActionRunner::reconcile(policy::Family family, Reconciler& reconciler) {
  std::vector<state::ActionRow> rows;
  std::string after;
  for (;;) {
    auto page = state::ActionTable(core_.reader)
                    .list({.state = state::ActionState::kUnknown, .family = Code::of(policy::label(family))},
                          after, state::ActionTable::kMaxPage, state::ListOrder::kOldestFirst);
    for (auto& row : page.rows) rows.push_back(std::move(row));
    if (!page.next) break;
    after = *page.next;
  }
  return reconcileFrom(std::move(rows), 0, reconciler);
}

kj::Promise<void> ActionRunner::reconcileFrom(std::vector<state::ActionRow> rows, std::size_t index,
                                              Reconciler& reconciler) {
  if (index == rows.size()) return kj::READY_NOW;
  auto asked = reconciler.reconcile(rows[index]).catch_([](kj::Exception&&) -> Reconciler::Reconciled {
    return Reconciler::Found::kCantTell;
  });
  return asked.then([this, rows = std::move(rows), index,
                     &reconciler](Reconciler::Reconciled&& told) mutable -> kj::Promise<void> {
    if (told.found == Reconciler::Found::kCantTell) {
      log(Level::kWarning, "outcome_stays_unknown", {{"family", rows[index].family}});
      return reconcileFrom(std::move(rows), index + 1, reconciler);
    }
    const bool happened = told.found == Reconciler::Found::kHappened;
    actions::Change change{
        .event = happened ? actions::Event::kReconcileSucceeded : actions::Event::kReconcileFailed,
        .exitCode = told.exitCode,
        .note = actions::KeyNote::kDone};
    if (!happened) change.failure = told.failure.value_or(failureOf(rows[index]));
    return commit<state::ActionRow>(
               core_, Step::kReconcile,
               [id = rows[index].id, change = std::move(change)](state::Transaction& transaction) {
                 return actions::apply(transaction, id, change);
               })
        .then(
            [this, rows = std::move(rows), index, &reconciler](Outcome<state::ActionRow>&& outcome) mutable {
              if (refusedIn(outcome) != nullptr) log(Level::kError, "outcome_not_recorded");
              return reconcileFrom(std::move(rows), index + 1, reconciler);
            });
  });
}

void ActionRunner::taskFailed(kj::Exception&&) {
  log(Level::kError, "action_flow_failed");
}

}  // namespace factionos::broker
