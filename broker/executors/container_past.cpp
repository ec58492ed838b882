// What became of containers that no run of this broker holds: asked of the engines by their labels.
#include <algorithm>

#include "broker/core/log.h"
#include "broker/executors/container_executor.h"
#include "protocol/rpc/deadline.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using audit::Code;
using schema::EngineKind;

constexpr std::uint32_t kSettleGraceMs = 2000;
// Stop, grace, SIGKILL and removal, as the worker bounds them.
constexpr auto kSettleLimit = 40 * kj::SECONDS;
constexpr auto kListLimit = 10 * kj::SECONDS;
constexpr unsigned kMostListed = 1000;  // from the schema
constexpr std::int32_t kHighestExit = 255;

}  // namespace

kj::Promise<ContainerExecutor::Settled> ContainerExecutor::settle(EngineKind kind,
                                                                  const std::string& actionId) {
  const auto cantTell = []() { return Settled{.left = true}; };
  return engines_.take(kind).then([this, actionId,
                                   cantTell](ContainerEngines::Taken&& taken) -> kj::Promise<Settled> {
    if (std::holds_alternative<Refused>(taken)) return cantTell();
    auto worker = std::get<std::shared_ptr<EngineWorker>>(std::move(taken));
    auto call = worker->containers.settleRequest();
    owners_.fill(actionId, call.initOwner());
    call.setGraceMs(kSettleGraceMs);
    using Answer = capnp::Response<schema::Containers::SettleResults>;
    return rpc::withDeadline(core_.timer, kSettleLimit, kj::Promise<Answer>(call.send()))
        .then(
            [cantTell](Answer&& answer) -> kj::Promise<Settled> {
              if (answer.hasDenial() && answer.getDenial().hasCode()) return cantTell();
              switch (answer.getSettlement()) {
                case schema::Settlement::ABSENT:
                case schema::Settlement::FOREIGN:  // not of this action, whatever its name
                  return Settled{.gone = true};
                case schema::Settlement::REMOVED: {
                  Settled settled{.gone = true};
                  const auto found = answer.getFound();
                  const auto exit = found.getExitCode();
                  if (found.getState() == schema::ContainerState::ENDED && exit >= 0 && exit <= kHighestExit)
                    settled.exitCode = exit;
                  settled.outOfMemory = found.getOutOfMemory();
                  return settled;
                }
                default:
                  return cantTell();
              }
            },
            [this, worker, cantTell](kj::Exception&& exception) {
              return engines_.whyLost(worker, exception).then([cantTell](Refused&&) { return cantTell(); });
            });
  });
}

kj::Promise<ContainerExecutor::Settled> ContainerExecutor::settleAnywhere(const std::string& actionId) {
  auto kinds = engines_.configured();
  if (const auto row = state::RunTable(core_.reader).find(actionId)) {
    if (const auto kind = engineFrom(row->runtime.text())) kinds = {*kind};
  }
  auto all = kj::Vector<kj::Promise<Settled>>();
  for (const auto kind : kinds) all.add(settle(kind, actionId));
  return kj::joinPromises(all.releaseAsArray()).then([](kj::Array<Settled>&& each) {
    Settled together{.gone = true};
    for (const auto& one : each) {
      together.left = together.left || one.left;
      if (one.exitCode) together.exitCode = one.exitCode;
      together.outOfMemory = together.outOfMemory || one.outOfMemory;
    }
    together.gone = !together.left;
    return together;
  });
}

kj::Promise<Reconciler::Reconciled> ContainerExecutor::reconcile(const state::ActionRow& action) {
  if (holds(action.id)) return Reconciled(Found::kCantTell);
  // A cleanup has removed what it has; what it has not, the next one will.
  if (action.operation.text() != "run") return Reconciled(Found::kDidNotHappen);
  return settleAnywhere(action.id).then([this, id = action.id](Settled&& settled) -> kj::Promise<Reconciled> {
    if (!settled.gone) return Reconciled(Found::kCantTell);
    const bool happened = settled.exitCode == 0 && !settled.outOfMemory;
    Reconciled told(happened ? Found::kHappened : Found::kDidNotHappen);
    told.exitCode = settled.exitCode;
    if (settled.outOfMemory) {
      told.failure = Code::of("out_of_memory");
    } else if (settled.exitCode && !happened) {
      told.failure = Code::of("exit_status");
    }
    return markRemoved(id).then([told]() { return told; });
  });
}

kj::Promise<void> ContainerExecutor::markRemoved(std::string actionId) {
  return commit<bool>(core_, Step::kReconcile,
                      [actionId](state::Transaction& transaction) {
                        state::RunTable table(transaction.database());
                        auto row = table.find(actionId);
                        if (!row) return false;
                        row->cleanup = Code::of("removed");
                        if (!row->ended) row->ended = transaction.now();
                        return table.update(*row);
                      })
      .then([](Outcome<bool>&&) {});
}

kj::Promise<ContainerExecutor::Swept> ContainerExecutor::sweep() {
  auto all = kj::Vector<kj::Promise<Swept>>();
  for (const auto kind : engines_.configured()) all.add(sweep(kind));
  return kj::joinPromises(all.releaseAsArray()).then([](kj::Array<Swept>&& each) {
    Swept together;
    for (const auto& one : each) {
      together.removed += one.removed;
      together.left += one.left;
      together.unreachable = together.unreachable || one.unreachable;
      together.ours = together.ours || one.ours;
    }
    return together;
  });
}

kj::Promise<ContainerExecutor::Swept> ContainerExecutor::sweep(EngineKind kind) {
  return engines_.take(kind).then([this, kind](ContainerEngines::Taken&& taken) -> kj::Promise<Swept> {
    if (std::holds_alternative<Refused>(taken)) return Swept{.unreachable = true};
    auto worker = std::get<std::shared_ptr<EngineWorker>>(std::move(taken));
    auto call = worker->containers.listRequest();
    call.setInstance(engines_.instance().c_str());
    using Answer = capnp::Response<schema::Containers::ListResults>;
    return rpc::withDeadline(core_.timer, kListLimit, kj::Promise<Answer>(call.send()))
        .then(
            [this, kind](Answer&& answer) -> kj::Promise<Swept> {
              if (answer.hasDenial() && answer.getDenial().hasCode()) return Swept{.unreachable = true};
              std::vector<std::string> actions;
              Swept swept;
              for (const auto each : answer.getContainers()) {
                if (actions.size() == kMostListed) break;
                const std::string action(view(each.getOwner().getAction()));
                if (!owners_.owns(each.getOwner())) {
                  ++swept.left;  // labelled as ours, and not by us
                } else if (!holds(action)) {
                  actions.push_back(action);
                }
              }
              return sweepFrom(kind, std::move(actions), 0, swept);
            },
            [this, worker](kj::Exception&& exception) {
              return engines_.whyLost(worker, exception).then([](Refused&&) {
                return Swept{.unreachable = true};
              });
            });
  });
}

kj::Promise<ContainerExecutor::Swept> ContainerExecutor::sweepFrom(EngineKind kind,
                                                                   std::vector<std::string> actions,
                                                                   std::size_t index, Swept swept) {
  if (index == actions.size()) return swept;
  const auto& action = actions[index];
  // Unknown ones are asked about by reconcile(), which needs how they ended.
  const auto row = actions_.find(action);
  if (holds(action) || (row && row->state == state::ActionState::kUnknown))
    return sweepFrom(kind, std::move(actions), index + 1, swept);
  return settle(kind, action)
      .then([this, kind, actions = std::move(actions), index, swept](Settled&& settled) mutable {
        if (!settled.gone) {
          ++swept.left;
          swept.ours = true;
          return sweepFrom(kind, std::move(actions), index + 1, swept);
        }
        ++swept.removed;
        return markRemoved(actions[index])
            .then([this, kind, actions = std::move(actions), index, swept]() mutable {
              return sweepFrom(kind, std::move(actions), index + 1, swept);
            });
      });
}

void ContainerExecutor::settleThePast() {
  if (!configured()) return;
  // And once more: an engine goes on with what somebody asked of it who is gone.
  past_ = settleAgain()
              .then([this]() { return core_.timer.afterDelay(settleAgain_); })
              .then([this]() { return settleAgain(); })
              .eagerlyEvaluate([](kj::Exception&&) { log(Level::kError, "containers_not_settled"); });
}

void ContainerExecutor::settleLater() {
  if (closing_) return;
  past_ = core_.timer.afterDelay(settleAgain_)
              .then([this]() { return settleAgain(); })
              .eagerlyEvaluate([](kj::Exception&&) { log(Level::kError, "containers_not_settled"); });
}

kj::Promise<void> ContainerExecutor::settleAgain() {
  if (closing_) return kj::READY_NOW;
  return runner_.reconcile(policy::Family::kContainer, *this)
      .then([this]() { return sweep(); })
      .then([this](Swept&& swept) -> kj::Promise<void> {
        if (swept.removed != 0)
          log(Level::kInfo, "containers_removed", {{"count", std::uint64_t{swept.removed}}});
        const auto unfinished = state::RunTable(core_.reader).unfinished(kMostListed);
        const bool pending = std::ranges::any_of(
            unfinished, [this](const state::RunRow& row) { return !holds(row.actionId); });
        if (closing_ || (!pending && !swept.unreachable && !swept.ours)) return kj::READY_NOW;
        return core_.timer.afterDelay(settleAgain_).then([this]() { return settleAgain(); });
      });
}

}  // namespace factionos::broker
