#include "broker/executors/apple_runtime.h"

#include <utility>

#include "broker/core/log.h"
#include "broker/executors/denials.h"
#include "protocol/rpc/deadline.h"
#include "protocol/schemas/probe.capnp.h"

namespace factionos::broker {
namespace {

using schema::ProbeState;

// Beyond the program's own time: for a worker to start, and to end what the program left behind.
constexpr auto kWorkerLimit = AppleRuntime::kAnswerLimit + 3 * kj::SECONDS;
constexpr auto kFreshFor = 5 * kj::SECONDS;

// A program that answers well is still none by which this build runs anything.
Gate unsupported() {
  return Gate::closed("unsupported_platform");
}

Gate gateOf(const LaunchDenied& denied) {
  if (denied.code == "program_missing") return Gate::closed("program_missing");
  if (denied.code == "program_untrusted") return Gate::closed("program_untrusted");
  return Gate::closed("worker_unavailable");
}

Gate gateOf(schema::ProbeAnswer::Reader answer) {
  switch (answer.getState()) {
    case ProbeState::ANSWERED:
      return unsupported();
    case ProbeState::NOT_UNDERSTOOD:
      return Gate::closed("not_understood");
    case ProbeState::TIMED_OUT:
      return Gate::closed("no_answer");
    default:
      return Gate::closed("failed");
  }
}

}  // namespace

AppleRuntime::AppleRuntime(Core& core, Workers& workers) : core_(core), workers_(workers), tasks_(*this) {}

Gate AppleRuntime::last() const {
  if (core_.config.engines.apple.empty()) return unsupported();
  return found_ ? found_->gate : Gate::closed("not_probed");
}

kj::Promise<Gate> AppleRuntime::ask() {
  if (core_.config.engines.apple.empty()) return unsupported();
  if (found_ && core_.timer.now() - found_->at < kFreshFor) return found_->gate;
  FACTIONOS_IF_SOME(asking, asking_) {
    return asking.addBranch();
  }
  auto fork = rpc::withDeadline(core_.timer, kWorkerLimit, start())
                  .catch_([](kj::Exception&& exception) {
                    return Gate::closed(rpc::isDeadlineExceeded(exception)
                                            ? redaction::Literal("no_answer")
                                            : redaction::Literal("worker_unavailable"));
                  })
                  .then([this](Gate gate) {
                    found_ = Found{.at = core_.timer.now(), .gate = gate};
                    core_.changes.touch();
                    return gate;
                  })
                  .fork();
  auto branch = fork.addBranch();
  tasks_.add(fork.addBranch().then([this](Gate&&) { asking_ = rpc::kNone; }));
  asking_ = kj::mv(fork);
  return branch;
}

kj::Promise<Gate> AppleRuntime::start() {
  return workers_.start(schema::Role::PROBE, nullptr, rpc::kNone)
      .then([this](kj::OneOf<StartedWorker, LaunchDenied>&& started) -> kj::Promise<Gate> {
        if (started.is<LaunchDenied>()) return gateOf(started.get<LaunchDenied>());
        return question(kj::mv(started.get<StartedWorker>()));
      });
}

// The worker is for this one question: whatever the program left behind in it is gone afterwards.
kj::Promise<Gate> AppleRuntime::question(StartedWorker worker) {
  auto call = worker.line->bootstrapAs<schema::RuntimeProbe>().askRequest();
  call.setDeadlineMs(static_cast<std::uint32_t>(kAnswerLimit / kj::MILLISECONDS));
  using Answer = capnp::Response<schema::RuntimeProbe::AskResults>;
  auto held = kj::heap(kj::mv(worker));
  return kj::Promise<Answer>(call.send())
      .then([](Answer&& answer) -> kj::Promise<Gate> { return gateOf(answer.getAnswer()); },
            [this, &worker = *held](kj::Exception&& exception) {
              return whyCallFailed(core_.timer, worker, exception, "The probe did not answer in time.")
                  .then([](Refused&& refused) {
                    if (refused.code == schema::ProblemCode::WORKER_MISBEHAVED)
                      logMisbehaved("probe", audit::Label::of("none"),
                                    {WorkerEnd::Kind::kMisbehaved, "protocol"});
                    return Gate::closed("worker_unavailable");
                  });
            })
      .attach(kj::mv(held));
}

void AppleRuntime::taskFailed(kj::Exception&&) {}  // what failed is a value by then

}  // namespace factionos::broker
