#include "broker/executors/scoped_workers.h"

#include <utility>

#include "broker/core/log.h"
#include "broker/executors/denials.h"

namespace factionos::broker {
namespace {

using schema::ProblemCode;

// A worker starts within milliseconds, so little is lost by ending one that nobody has asked for a while.
constexpr auto kIdleLimit = 60 * kj::SECONDS;
constexpr auto kIdleInterval = 15 * kj::SECONDS;

}  // namespace

ScopedWorkers::ScopedWorkers(Core& core, Workers& workers, schema::Role role, redaction::Literal name,
                             FillScope fillScope)
    : core_(core),
      workers_(workers),
      role_(role),
      name_(name),
      fillScope_(std::move(fillScope)),
      tasks_(*this) {
  tasks_.add(endIdle());
}

ScopedWorkers::~ScopedWorkers() noexcept(false) = default;

void ScopedWorkers::directoryAlone(const home::WorkspaceEntry& workspace,
                                   schema::WorkerScope::Builder scope) {
  scope.setWorkspace(workspace.path.c_str());
}

kj::Promise<ScopedWorkers::Started> ScopedWorkers::take(const home::WorkspaceEntry& workspace) {
  if (const auto found = running_.find(workspace.name); found != running_.end()) {
    found->second->used = core_.timer.now();
    return Started(found->second);
  }
  if (const auto found = starting_.find(workspace.name); found != starting_.end())
    return found->second.addBranch();
  auto fork = start(workspace).fork();
  auto branch = fork.addBranch();
  const auto name = workspace.name;
  tasks_.add(fork.addBranch().then([this, name](Started&&) { starting_.erase(name); },
                                   [this, name](kj::Exception&&) { starting_.erase(name); }));
  starting_.emplace(name, kj::mv(fork));
  return branch;
}

kj::Promise<ScopedWorkers::Started> ScopedWorkers::start(const home::WorkspaceEntry& workspace) {
  return workers_
      .start(
          role_, [&](schema::WorkerScope::Builder scope) { fillScope_(workspace, scope); }, rpc::kNone)
      .then(
          [this, name = workspace.name](kj::OneOf<StartedWorker, LaunchDenied>&& started) -> Started {
            if (started.is<LaunchDenied>()) return refusedFor(started.get<LaunchDenied>());
            auto process = kj::mv(started.get<StartedWorker>());
            auto service = process.line->bootstrapAs<capnp::Capability>();
            auto worker = std::make_shared<ScopedWorker>(ScopedWorker{
                .workspace = name,
                .started = kj::mv(process),
                .service = kj::mv(service),
                .used = core_.timer.now(),
            });
            running_[name] = worker;
            tasks_.add(watch(worker));
            return worker;
          },
          [](kj::Exception&&) -> Started { return lost(); });
}

kj::Promise<void> ScopedWorkers::watch(std::shared_ptr<ScopedWorker> worker) {
  // The line lives as long as its worker, and this must not keep it alive.
  const std::weak_ptr<ScopedWorker> weak = worker;
  return worker->started.line->onDisconnect().then([this, weak](rpc::DisconnectCause cause) {
    const auto lostWorker = weak.lock();
    if (!lostWorker) return kj::Promise<void>(kj::READY_NOW);
    forget(*lostWorker);
    return judgeEnd(core_.timer, lostWorker->started.process, cause).then([this](WorkerEnd end) {
      if (end.kind == WorkerEnd::Kind::kMisbehaved) logMisbehaved(name_, audit::Label::of("none"), end);
    });
  });
}

kj::Promise<Refused> ScopedWorkers::whyLost(std::shared_ptr<ScopedWorker> worker,
                                            const kj::Exception& exception) {
  forget(*worker);
  auto why = whyCallFailed(core_.timer, worker->started, exception, "The worker did not answer in time.");
  return why.attach(std::move(worker));
}

Refused ScopedWorkers::misbehaved(const std::shared_ptr<ScopedWorker>& worker, redaction::Literal breach) {
  forget(*worker);
  logMisbehaved(name_, audit::Label::of("none"), {WorkerEnd::Kind::kMisbehaved, breach});
  worker->started.line->close();
  return {.code = ProblemCode::WORKER_MISBEHAVED};
}

void ScopedWorkers::forget(const ScopedWorker& worker) {
  const auto found = running_.find(worker.workspace);
  if (found != running_.end() && found->second.get() == &worker) running_.erase(found);
}

kj::Promise<void> ScopedWorkers::endIdle() {
  return core_.timer.afterDelay(kIdleInterval).then([this]() {
    const auto now = core_.timer.now();
    std::erase_if(running_, [now](const auto& each) {
      return each.second.use_count() == 1 && now - each.second->used >= kIdleLimit;
    });
    return endIdle();
  });
}

void ScopedWorkers::taskFailed(kj::Exception&&) {}  // a line's end is watched, and judged, by value

}  // namespace factionos::broker
