#include "broker/executors/container_engines.h"

#include <algorithm>
#include <utility>

#include "broker/core/log.h"
#include "broker/executors/denials.h"
#include "protocol/rpc/deadline.h"

namespace factionos::broker {
namespace {

using schema::EngineKind;
using schema::ProblemCode;

constexpr auto kOpenLimit = 5 * kj::SECONDS;
// The worker answers within four seconds whatever its engine does.
constexpr auto kProbeLimit = 6 * kj::SECONDS;
// A dashboard may ask as often as it likes, and a run asks twice; an engine need not hear of it each time.
// What is stale by then is found out by the worker, which looks at the image and at what was made of it
// itself.
constexpr auto kFreshFor = 5 * kj::SECONDS;

const std::string& socketOf(const home::Config& config, EngineKind kind) {
  return kind == EngineKind::DOCKER ? config.engines.docker : config.engines.podman;
}

}  // namespace

ContainerEngines::ContainerEngines(Core& core, Workers& workers, std::string instance)
    : core_(core), workers_(workers), instance_(std::move(instance)), apple_(core, workers), tasks_(*this) {}
ContainerEngines::~ContainerEngines() noexcept(false) = default;

std::vector<EngineKind> ContainerEngines::configured() const {
  std::vector<EngineKind> kinds;
  for (const auto kind : kKinds) {
    if (!socketOf(core_.config, kind).empty()) kinds.push_back(kind);
  }
  return kinds;
}

kj::Promise<ContainerEngines::Taken> ContainerEngines::take(EngineKind kind) {
  if (const auto found = running_.find(kind); found != running_.end()) return Taken(found->second);
  if (const auto found = starting_.find(kind); found != starting_.end()) return found->second.addBranch();
  if (socketOf(core_.config, kind).empty())
    return Taken(Refused{.code = ProblemCode::ENGINE_UNAVAILABLE,
                         .detail = "config.toml names no socket of this engine."});
  auto fork = start(kind).fork();
  auto branch = fork.addBranch();
  tasks_.add(fork.addBranch().then([this, kind](Taken&&) { starting_.erase(kind); },
                                   [this, kind](kj::Exception&&) { starting_.erase(kind); }));
  starting_.emplace(kind, kj::mv(fork));
  return branch;
}

kj::Promise<ContainerEngines::Taken> ContainerEngines::start(EngineKind kind) {
  return workers_.start(schema::Role::CONTAINER, nullptr, rpc::kNone)
      .then([this, kind](kj::OneOf<StartedWorker, LaunchDenied>&& started) -> kj::Promise<Taken> {
        if (started.is<LaunchDenied>()) return Taken(refusedFor(started.get<LaunchDenied>()));
        return open(kind, kj::mv(started.get<StartedWorker>()));
      })
      .catch_([](kj::Exception&&) { return Taken(lost()); });
}

kj::Promise<ContainerEngines::Taken> ContainerEngines::open(EngineKind kind, StartedWorker started) {
  return workers_.engine(kind).then(
      [this, kind, started = kj::mv(started)](
          kj::OneOf<schema::EngineConnector::Client, LaunchDenied>&& given) mutable -> kj::Promise<Taken> {
        if (given.is<LaunchDenied>()) return Taken(refusedFor(given.get<LaunchDenied>()));
        auto call = started.line->bootstrapAs<schema::Container>().openRequest();
        call.setConnector(kj::mv(given.get<schema::EngineConnector::Client>()));
        call.setEngine(kind);
        using Opened = capnp::Response<schema::Container::OpenResults>;
        return rpc::withDeadline(core_.timer, kOpenLimit, kj::Promise<Opened>(call.send()))
            .then([this, kind, started = kj::mv(started)](Opened&& response) mutable -> Taken {
              if (!response.hasContainers()) return lost();
              auto worker = std::make_shared<EngineWorker>(EngineWorker{
                  .kind = kind, .started = kj::mv(started), .containers = response.getContainers()});
              running_[kind] = worker;
              tasks_.add(watch(worker));
              return worker;
            });
      });
}

kj::Promise<void> ContainerEngines::watch(std::shared_ptr<EngineWorker> worker) {
  // The line lives as long as its worker, and this must not keep it alive.
  const std::weak_ptr<EngineWorker> weak = worker;
  return worker->started.line->onDisconnect().then([this, weak](rpc::DisconnectCause cause) {
    const auto lostWorker = weak.lock();
    if (!lostWorker) return kj::Promise<void>(kj::READY_NOW);
    forget(*lostWorker);
    return judgeEnd(core_.timer, lostWorker->started.process, cause).then([](WorkerEnd end) {
      if (end.kind == WorkerEnd::Kind::kMisbehaved) logMisbehaved("container", audit::Label::of("none"), end);
    });
  });
}

kj::Promise<Refused> ContainerEngines::whyLost(std::shared_ptr<EngineWorker> worker,
                                               const kj::Exception& exception) {
  forget(*worker);
  auto why =
      whyCallFailed(core_.timer, worker->started, exception, "The container worker did not answer in time.");
  return why
      .then([](Refused&& refused) {
        if (refused.code == ProblemCode::SANDBOX_UNAVAILABLE)
          refused.detail = "The container worker was lost; another one is started for the next request.";
        return kj::mv(refused);
      })
      .attach(std::move(worker));
}

Refused ContainerEngines::misbehaved(const std::shared_ptr<EngineWorker>& worker, redaction::Literal breach) {
  forget(*worker);
  logMisbehaved("container", audit::Label::of("none"), {WorkerEnd::Kind::kMisbehaved, breach});
  worker->started.line->close();
  return {.code = ProblemCode::WORKER_MISBEHAVED};
}

void ContainerEngines::forget(const EngineWorker& worker) {
  const auto found = running_.find(worker.kind);
  if (found != running_.end() && found->second.get() == &worker) running_.erase(found);
}

kj::Promise<EngineFacts> ContainerEngines::ask(EngineKind kind, std::string image) {
  if (socketOf(core_.config, kind).empty()) return EngineFacts::without(kind, Gate::closed("not_configured"));
  return take(kind).then([this, kind, image = std::move(image)](Taken&& taken) -> kj::Promise<EngineFacts> {
    if (std::holds_alternative<Refused>(taken))
      return EngineFacts::without(kind, Gate::closed("worker_unavailable"));
    auto worker = std::get<std::shared_ptr<EngineWorker>>(std::move(taken));
    auto call = worker->containers.probeRequest();
    call.setImage(image.c_str());
    call.setInstance(instance_.c_str());
    using Probed = capnp::Response<schema::Containers::ProbeResults>;
    return rpc::withDeadline(core_.timer, kProbeLimit, kj::Promise<Probed>(call.send()))
        .then(
            [kind](Probed&& response) -> kj::Promise<EngineFacts> {
              return EngineFacts::from(kind, response.getProbe());
            },
            [this, kind, worker](kj::Exception&& exception) {
              const bool late = rpc::isDeadlineExceeded(exception);
              return whyLost(worker, exception).then([kind, late](Refused&&) {
                auto gate = Gate::closed(late ? redaction::Literal("worker_timeout")
                                              : redaction::Literal("worker_lost"));
                if (late) gate.status = schema::Posture::TIMEOUT;
                auto facts = EngineFacts::without(kind, std::move(gate));
                facts.workerLost = !late;
                return facts;
              });
            });
  });
}

kj::Promise<std::vector<EngineFacts>> ContainerEngines::facts(const std::string& image) {
  // What its worker's death left untold is asked anew at once, of the next worker.
  const auto isFresh = [this](const Found& found) {
    return core_.timer.now() - found.at < kFreshFor &&
           std::ranges::none_of(found.facts, &EngineFacts::workerLost);
  };
  if (const auto found = found_.find(image); found != found_.end() && isFresh(found->second))
    return found->second.facts;
  if (const auto found = asking_.find(image); found != asking_.end()) return found->second.addBranch();
  auto asked = kj::Vector<kj::Promise<EngineFacts>>();
  for (const auto kind : kKinds) asked.add(ask(kind, image));
  auto fork = kj::joinPromises(asked.releaseAsArray())
                  .then([this, image](kj::Array<EngineFacts>&& each) {
                    std::vector<EngineFacts> facts(std::make_move_iterator(each.begin()),
                                                   std::make_move_iterator(each.end()));
                    found_.insert_or_assign(image, Found{.at = core_.timer.now(), .facts = facts});
                    core_.changes.touch();
                    return facts;
                  })
                  .fork();
  auto branch = fork.addBranch();
  tasks_.add(fork.addBranch().then([this, image](std::vector<EngineFacts>&&) { asking_.erase(image); },
                                   [this, image](kj::Exception&&) { asking_.erase(image); }));
  asking_.emplace(image, kj::mv(fork));
  return branch;
}

std::vector<EngineFacts> ContainerEngines::lastFacts(const std::string& image) const {
  if (const auto found = found_.find(image); found != found_.end()) return found->second.facts;
  std::vector<EngineFacts> unknown;
  for (const auto kind : kKinds) unknown.push_back(EngineFacts::without(kind, Gate::closed("not_probed")));
  return unknown;
}

void ContainerEngines::taskFailed(kj::Exception&&) {}  // a line's end is watched, and judged, by value

}  // namespace factionos::broker
