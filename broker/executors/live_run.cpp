#include "broker/executors/live_run.h"

#include <algorithm>
#include <utility>

#include "broker/core/log.h"
#include "broker/executors/worker_sink.h"
#include "protocol/rpc/deadline.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using audit::Code;

// From the schema: at most so much a call.
constexpr std::size_t kMaxChunk = 64 * 1024;
constexpr unsigned kStreams = 2;
// The engine may take its time to make a container; the worker bounds each of its steps.
constexpr auto kStartLimit = 60 * kj::SECONDS;
// The worker's own limit for a removal, from the schema, and what a busy machine adds.
constexpr auto kRemovalLimit = 75 * kj::SECONDS;
constexpr std::int32_t kHighestExit = 255;
// Compared by address: one object each.
constexpr const char* kWorkerMisbehaved = "worker_misbehaved";
constexpr const char* kWorkerLost = "worker_lost";

SessionOutput::Instant now() {
  return std::chrono::steady_clock::now();
}

// A code of ours, or none.
Code failureFrom(schema::Denial::Reader denial) {
  return Code::parse(view(denial.getCode())).value_or(Code::of("engine_refused"));
}

}  // namespace

// What the container worker may call.
class LiveRun::Sink final : public WorkerSink<schema::ContainerSink, LiveRun> {
 public:
  using WorkerSink::WorkerSink;

  kj::Promise<void> write(WriteContext context) override {
    hear([&context](LiveRun& run) {
      const auto params = context.getParams();
      run.received(params.getStream(), params.getBytes(), params.getDropped());
    });
    return kj::READY_NOW;
  }
  kj::Promise<void> end(EndContext context) override {
    hear([&context](LiveRun& run) {
      run.drained(context.getParams().getTotalBytes(), context.getParams().getDroppedBytes());
    });
    return kj::READY_NOW;
  }

 private:
  void broke(LiveRun& live, redaction::Literal breach) override { live.misbehaved(breach); }
};

LiveRun::LiveRun(Core& core, ContainerEngines& engines, std::string actionId, audit::Label owner,
                 std::uint32_t timeoutMs, std::uint32_t graceMs, const MaskRules& rules)
    : core_(core),
      engines_(engines),
      actionId_(std::move(actionId)),
      owner_(std::move(owner)),
      patience_((std::uint64_t{timeoutMs} + graceMs) * kj::MILLISECONDS + kRemovalLimit),
      output_(rules, core.config.limits.outputCapBytes, kStreams),
      self_(std::make_shared<LiveRun*>(this)),
      tasks_(*this) {}

LiveRun::~LiveRun() noexcept(false) = default;

kj::Promise<std::optional<Refused>> LiveRun::start(std::shared_ptr<EngineWorker> worker,
                                                   schema::ContainerSpec::Reader spec) {
  worker_ = std::move(worker);
  auto call = worker_->containers.runRequest();
  call.setSpec(spec);
  call.setSink(kj::heap<Sink>(self_));
  reach(core_.steps, Step::kStart, Edge::kBefore);
  using Ran = capnp::Response<schema::Containers::RunResults>;
  using Started = capnp::Response<schema::ContainerRun::StartedResults>;
  return rpc::withDeadline(core_.timer, kStartLimit, kj::Promise<Ran>(call.send()))
      .then([this](Ran&& response) -> kj::Promise<std::optional<Refused>> {
        if (!response.hasRun()) return std::optional(containerDenied(response.getDenial()));
        run_ = response.getRun();
        return rpc::withDeadline(core_.timer, kStartLimit,
                                 kj::Promise<Started>(response.getRun().startedRequest().send()))
            .then([this](Started&& started) -> std::optional<Refused> {
              reach(core_.steps, Step::kStart, Edge::kAfter);
              if (started.getStarted()) return std::nullopt;
              return Refused{.code = schema::ProblemCode::ENGINE_UNAVAILABLE};
            });
      })
      .catch_([this](kj::Exception&& exception) {
        return whyLost(exception).then([this](Refused&& refused) {
          if (misbehaved_) refused = {.code = schema::ProblemCode::WORKER_MISBEHAVED};
          return std::optional(std::move(refused));
        });
      });
}

kj::Promise<RunEnding> LiveRun::watch() {
  FACTIONOS_IF_SOME(run, run_) {
    reach(core_.steps, Step::kExited, Edge::kBefore);
    using Ended = capnp::Response<schema::ContainerRun::EndedResults>;
    return rpc::withDeadline(core_.timer, patience_, kj::Promise<Ended>(run.endedRequest().send()))
        .then(
            [this](Ended&& response) -> kj::Promise<RunEnding> {
              reach(core_.steps, Step::kExited, Edge::kAfter);
              return judge(response.getOutcome());
            },
            [this](kj::Exception&& exception) { return lostWorker(kj::mv(exception)); })
        .then([this](RunEnding&& ending) {
          drained_ = true;
          output_.finish();
          ending.counts = counts();
          abandon();
          return kj::mv(ending);
        });
  }
  auto ending = endingOf(misbehaved_ ? kWorkerMisbehaved : kWorkerLost);
  ending.unsettled = true;
  return ending;
}

kj::Promise<Refused> LiveRun::whyLost(const kj::Exception& exception) {
  if (!worker_) return Refused{.code = schema::ProblemCode::SANDBOX_UNAVAILABLE};
  return engines_.whyLost(worker_, exception);
}

kj::Promise<RunEnding> LiveRun::lostWorker(kj::Exception&& exception) {
  return whyLost(exception).then([this](Refused&& refused) {
    const bool broke = misbehaved_ || refused.code == schema::ProblemCode::WORKER_MISBEHAVED;
    auto ending = endingOf(broke ? kWorkerMisbehaved : endReason_ != nullptr ? endReason_ : kWorkerLost);
    ending.unsettled = true;
    return ending;
  });
}

RunEnding LiveRun::endingOf(const char* failure) const {
  return {.event = actions::Event::kFail, .failure = Code::of(failure), .counts = counts()};
}

RunEnding LiveRun::judge(schema::ContainerOutcome::Reader outcome) {
  using End = schema::ContainerEnd;
  const auto exit = outcome.getExitCode();
  const bool known = exit >= 0 && exit <= kHighestExit;
  if (misbehaved_ || outcome.getEnd() == End::UNSPECIFIED ||
      outcome.getRemoval() == schema::Removal::UNSPECIFIED || (!known && exit != -1)) {
    misbehaved("outcome");
    auto ending = endingOf(kWorkerMisbehaved);
    ending.unsettled = true;
    return ending;
  }
  if (view(outcome.getDenial().getCode()) == "output_unreadable")
    log(Level::kWarning, "output_unreadable", {{"action", audit::Label::of(actionId_)}});
  RunEnding ending;
  if (known) ending.exitCode = exit;
  if (outcome.getRemoval() == schema::Removal::LEFT) ending.cleanup = Code::of("left");
  switch (outcome.getEnd()) {
    case End::EXITED:
      if (exit == 0) {
        ending.event = actions::Event::kSucceed;
      } else {
        ending.failure = Code::of(!known                     ? "exit_unknown"
                                  : outcome.getPidsReached() ? "processes_reached"
                                                             : "exit_status");
      }
      break;
    case End::TIMED_OUT:
      ending.event = actions::Event::kTimeOut;
      ending.failure = Code::of("timed_out");
      break;
    case End::OUT_OF_MEMORY:
      ending.failure = Code::of("out_of_memory");
      break;
    case End::KILLED:
      ending.failure = Code::of(endReason_ == nullptr ? "killed" : endReason_);
      break;
    case End::NOT_STARTED:
      ending.failure = endReason_ == nullptr ? failureFrom(outcome.getDenial()) : Code::of(endReason_);
      ending.refused = containerDenied(outcome.getDenial());
      break;
    default:
      ending.failure = Code::of("engine_lost");
      ending.unsettled = true;
  }
  return ending;
}

void LiveRun::received(schema::OutputStream stream, capnp::Data::Reader bytes, std::uint64_t dropped) {
  if (misbehaved_) return;
  if (bytes.size() > kMaxChunk) return misbehaved("chunk_size");
  if (drained_) return misbehaved("output_after_end");
  if (stream != schema::OutputStream::STDOUT && stream != schema::OutputStream::STDERR)
    return misbehaved("stream_unknown");
  lostBytes_ += dropped;
  const unsigned index = stream == schema::OutputStream::STDERR ? 1 : 0;
  output_.lose(dropped, index);
  output_.feed({bytes.begin(), bytes.size()}, now(), index);
  planTick();
  wake();
}

void LiveRun::drained(std::uint64_t totalBytes, std::uint64_t droppedBytes) {
  if (misbehaved_) return;
  if (drained_) return misbehaved("end_twice");
  if (totalBytes < output_.rawBytes()) return misbehaved("end_count");
  output_.loseAtEnd(droppedBytes - std::min(droppedBytes, lostBytes_));
  lostBytes_ = std::max(lostBytes_, droppedBytes);
  drained_ = true;
  output_.finish();
  wake();
}

void LiveRun::misbehaved(redaction::Literal breach) {
  if (misbehaved_) return;
  misbehaved_ = true;
  // Later: this may run inside of a call on the very line that is dropped.
  tasks_.add(kj::evalLater([this, breach, worker = worker_]() {
    if (worker) engines_.misbehaved(worker, breach);
  }));
}

state::ActionCounts LiveRun::counts() const {
  return {.bytesOut = totalBytes(), .droppedBytes = droppedBytes()};
}

void LiveRun::kill(const char* reason) {
  if (ended_) return;
  if (endReason_ == nullptr) endReason_ = reason;
  FACTIONOS_IF_SOME(run, run_) {
    reach(core_.steps, Step::kKill, Edge::kBefore);
    tasks_.add(run.killRequest().send().then(
        [this](capnp::Response<schema::ContainerRun::KillResults>&&) {
          reach(core_.steps, Step::kKill, Edge::kAfter);
        },
        [](kj::Exception&&) {
          // Its end is watched, and judged, by watch().
        }));
  }
}

void LiveRun::abandon() {
  run_ = rpc::kNone;
  worker_ = nullptr;
}

void LiveRun::close() {
  ended_ = true;
  wake();
}

void LiveRun::planTick() {
  const auto deadline = output_.deadline();
  if (!deadline || ticking_) return;
  ticking_ = true;
  const auto wait = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - now()).count(), 0);
  tasks_.add(core_.timer.afterDelay(wait * kj::MILLISECONDS).then([this]() {
    ticking_ = false;
    if (drained_) return;
    const auto before = output_.shownBytes();
    output_.tick(now());
    if (output_.shownBytes() != before) wake();
    planTick();
  }));
}

kj::Promise<void> LiveRun::whenChanged() {
  std::erase_if(watchers_, [](auto& each) { return !each->isWaiting(); });
  auto paf = kj::newPromiseAndFulfiller<void>();
  watchers_.push_back(kj::mv(paf.fulfiller));
  return kj::mv(paf.promise);
}

void LiveRun::wake() {
  for (auto& each : watchers_) each->fulfill();
  watchers_.clear();
  core_.changes.touch();
}

void LiveRun::taskFailed(kj::Exception&&) {
  log(Level::kError, "run_task_failed");
}

}  // namespace factionos::broker
