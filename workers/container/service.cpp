#include "workers/container/service.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <kj/async.h>

#include "protocol/rpc/compat.h"
#include "protocol/text.h"
#include "workers/container/found.h"
#include "workers/container/listing.h"
#include "workers/container/probe.h"
#include "workers/container/run.h"

namespace factionos::container {
namespace {

constexpr std::size_t kMostRuns = 64;
constexpr auto kListLimit = 10 * kj::SECONDS;
constexpr std::uint32_t kLongestGraceMs = 60'000;

void deny(schema::Denial::Builder denial, std::string_view code, std::string_view rule,
          std::string_view target = {}) {
  denial.setCode(kj::heapString(code.data(), code.size()));
  denial.setRule(kj::heapString(rule.data(), rule.size()));
  if (!target.empty()) denial.setTarget(kj::heapString(target.data(), target.size()));
}

schema::ContainerEnd endOf(End end) {
  using Out = schema::ContainerEnd;
  switch (end) {
    case End::kExited:
      return Out::EXITED;
    case End::kKilled:
      return Out::KILLED;
    case End::kTimedOut:
      return Out::TIMED_OUT;
    case End::kOutOfMemory:
      return Out::OUT_OF_MEMORY;
    case End::kNotStarted:
      return Out::NOT_STARTED;
    case End::kLost:
      return Out::LOST;
  }
  return Out::LOST;
}

schema::Removal removalOf(Gone gone) {
  if (gone == Gone::kNotAsked) return schema::Removal::UNSPECIFIED;
  return gone == Gone::kRemoved ? schema::Removal::REMOVED : schema::Removal::LEFT;
}

schema::ContainerState lifeOf(Life life) {
  using Out = schema::ContainerState;
  switch (life) {
    case Life::kCreated:
      return Out::CREATED;
    case Life::kRunning:
      return Out::RUNNING;
    case Life::kEnded:
      return Out::ENDED;
    case Life::kRemoving:
      return Out::REMOVING;
  }
  return Out::REMOVING;
}

schema::Settlement settlementOf(Swept swept) {
  using Out = schema::Settlement;
  switch (swept) {
    case Swept::kAbsent:
      return Out::ABSENT;
    case Swept::kRemoved:
      return Out::REMOVED;
    case Swept::kForeign:
      return Out::FOREIGN;
    case Swept::kLeft:
      return Out::LEFT;
  }
  return Out::LEFT;
}

void fill(schema::ContainerOutcome::Builder out, const Outcome& outcome) {
  out.setEnd(endOf(outcome.end));
  out.setExitCode(outcome.exitCode);
  out.setPidsReached(outcome.pidsReached);
  out.setAdopted(outcome.adopted);
  out.setRemoval(removalOf(outcome.removal));
  out.setStartedMs(outcome.startedMs);
  out.setEndedMs(outcome.endedMs);
  out.setTotalBytes(outcome.totalBytes);
  out.setDroppedBytes(outcome.droppedBytes);
  if (!outcome.code.empty()) {
    deny(out.initDenial(), outcome.code, "engine", outcome.target);
  } else if (outcome.outputUnreadable) {
    deny(out.initDenial(), "output_unreadable", "frames");
  }
}

void fill(schema::FoundContainer::Builder out, const std::string& id, const Owner& owner, const State& state,
          const std::string& templateId) {
  out.setId(id.c_str());
  auto to = out.initOwner();
  to.setInstance(owner.instance.c_str());
  to.setRun(owner.run.c_str());
  to.setAction(owner.action.c_str());
  to.setProof(owner.proof.c_str());
  to.setPid(owner.pid);
  to.setStartTime(owner.startTime);
  out.setState(lifeOf(state.life));
  out.setExitCode(state.exitCode);
  out.setOutOfMemory(state.outOfMemory);
  out.setTemplate(templateId.c_str());
}

class RunServer final : public schema::ContainerRun::Server {
 public:
  explicit RunServer(kj::Own<Run> run) : run_(kj::mv(run)) {}
  ~RunServer() noexcept(false) { run_->kill(); }
  KJ_DISALLOW_COPY(RunServer);

  kj::Promise<void> started(StartedContext context) override {
    rpc::allowCancellation(context);
    return run_->started().then(
        [context](bool started) mutable { context.getResults().setStarted(started); });
  }
  kj::Promise<void> ended(EndedContext context) override {
    rpc::allowCancellation(context);
    return run_->ended().then([context, run = kj::addRef(*run_)]() mutable {
      fill(context.getResults().initOutcome(), run->outcome());
    });
  }
  kj::Promise<void> kill(KillContext) override {
    run_->kill();
    return kj::READY_NOW;
  }

 private:
  kj::Own<Run> run_;
};

class ContainersServer final : public schema::Containers::Server, private kj::TaskSet::ErrorHandler {
 public:
  ContainersServer(rpc::Loop& loop, schema::EngineConnector::Client connector, Dialect expected)
      : engine_(loop, kj::mv(connector), expected), tasks_(*this) {}

  kj::Promise<void> probe(ProbeContext context) override {
    const auto params = context.getParams();
    auto out = context.getResults().initProbe();
    const std::string image(view(params.getImage()));
    const std::string instance(view(params.getInstance()));
    if (!isImageName(image) || !isId(instance)) {
      out.initEngine().setReason("probe_invalid");
      return kj::READY_NOW;
    }
    return container::probe(engine_, image, instance, out);
  }

  kj::Promise<void> run(RunContext context) override {
    Spec spec;
    if (const char* field = readSpec(context.getParams().getSpec(), spec))
      return refuse(context, "spec_invalid", field);
    if (runs_.size() >= kMostRuns) return refuse(context, "too_many_runs", "runs_64");
    const std::string action = spec.owner.action;
    if (runs_.contains(action)) return refuse(context, "run_active", "once_for_an_action");
    auto run = kj::refcounted<Run>(engine_, std::move(spec), context.getParams().getSink());
    runs_[action] = kj::addRef(*run);
    run->begin();
    tasks_.add(run->ended().then([this, action]() { runs_.erase(action); }));
    context.getResults().setRun(kj::heap<RunServer>(kj::mv(run)));
    return kj::READY_NOW;
  }

  kj::Promise<void> list(ListContext context) override {
    const std::string instance(view(context.getParams().getInstance()));
    if (!isId(instance)) return refuse(context, "spec_invalid", "instance");
    return container::list(engine_, instance, kListLimit).then([context](const Listing& listing) mutable {
      auto results = context.getResults();
      if (!listing.reply.is(200)) return denyFault(results.initDenial(), listing.reply.fault);
      auto out = results.initContainers(static_cast<unsigned>(listing.found.size()));
      for (unsigned i = 0; i < out.size(); ++i) {
        const Listed& each = listing.found[i];
        fill(out[i], each.id, each.owner, each.state, each.templateId);
      }
      results.setTruncated(listing.truncated);
    });
  }

  kj::Promise<void> settle(SettleContext context) override {
    Owner owner;
    if (const char* field = readOwner(context.getParams().getOwner(), owner))
      return refuse(context, "spec_invalid", field);
    if (runs_.contains(owner.action)) return refuse(context, "run_active", "once_for_an_action");
    const auto grace = std::min(context.getParams().getGraceMs(), kLongestGraceMs) * kj::MILLISECONDS;
    return container::settle(engine_, std::move(owner), grace)
        .then([context](const Settled& settled) mutable {
          auto results = context.getResults();
          if (settled.fault != Fault::kNone) return denyFault(results.initDenial(), settled.fault);
          results.setSettlement(settlementOf(settled.swept));
          if (!settled.id.empty())
            fill(results.initFound(), settled.id, settled.owner, settled.state, settled.templateId);
        });
  }

 private:
  template <typename Context>
  static kj::Promise<void> refuse(Context& context, std::string_view code, std::string_view rule) {
    deny(context.getResults().initDenial(), code, rule);
    return kj::READY_NOW;
  }
  static void denyFault(schema::Denial::Builder denial, Fault fault) {
    if (fault == Fault::kTimeout) return deny(denial, "engine_timeout", "engine");
    deny(denial, fault == Fault::kNone ? "engine_refused" : "engine_unavailable", "engine");
  }

  void taskFailed(kj::Exception&&) override {}  // how a run ends is a value

  Engine engine_;
  std::map<std::string, kj::Own<Run>> runs_;
  kj::TaskSet tasks_;
};

class Service final : public schema::Container::Server {
 public:
  explicit Service(rpc::Loop& loop) : loop_(loop) {}

  kj::Promise<void> open(OpenContext context) override {
    const auto engine = context.getParams().getEngine();
    const bool known = engine == schema::EngineKind::DOCKER || engine == schema::EngineKind::PODMAN;
    if (state_ != State::kWaiting || !known) {
      deny(context.getResults().initDenial(), known ? "already_open" : "engine_unknown", "once");
      return kj::READY_NOW;
    }
    state_ = State::kOpen;
    context.getResults().setContainers(kj::heap<ContainersServer>(
        loop_, context.getParams().getConnector(),
        engine == schema::EngineKind::PODMAN ? Dialect::kPodman : Dialect::kDocker));
    return kj::READY_NOW;
  }

 private:
  enum class State { kWaiting, kOpen };

  rpc::Loop& loop_;
  State state_ = State::kWaiting;
};

}  // namespace

schema::Container::Client makeService(rpc::Loop& loop) {
  return kj::heap<Service>(loop);
}

}  // namespace factionos::container
