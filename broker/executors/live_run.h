#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kj/async.h>
#include <kj/refcount.h>

#include "broker/actions/ledger.h"
#include "broker/core/core.h"
#include "broker/executors/container_engines.h"
#include "broker/executors/session_output.h"
#include "protocol/schemas/api.capnp.h"

namespace factionos::broker {

// How a run ended, as its action and its own row record it.
struct RunEnding {
  actions::Event event = actions::Event::kFail;
  std::optional<audit::Code> failure;
  std::optional<std::int32_t> exitCode;
  state::ActionCounts counts;
  audit::Code cleanup = audit::Code::of("removed");  // removed or left
  std::optional<Refused> refused;                    // of one that was never started: what its caller hears
  bool unsettled = false;  // the worker was lost: what became of the container is still to be asked
};

// One container as this broker runs it: the worker's capability for it, its masked output, who waits for
// news.
class LiveRun final : public kj::Refcounted, private kj::TaskSet::ErrorHandler {
 public:
  LiveRun(Core& core, ContainerEngines& engines, std::string actionId, audit::Label owner,
          std::uint32_t timeoutMs, std::uint32_t graceMs, const MaskRules& rules);
  ~LiveRun() noexcept(false);

  const std::string& actionId() const { return actionId_; }
  const audit::Label& owner() const { return owner_; }
  bool ended() const { return ended_; }

  // Asks the worker for it. Nothing: it runs. Else why not; then watch() tells how that ended.
  kj::Promise<std::optional<Refused>> start(std::shared_ptr<EngineWorker> worker,
                                            schema::ContainerSpec::Reader spec);
  // Resolves when it has ended, was removed and its output is drained. Once.
  kj::Promise<RunEnding> watch();
  // Stop signal, grace, SIGKILL, removal. `reason`: a failure code in static storage; the first one counts.
  void kill(const char* reason);
  // Lets go of the worker, which must happen while the loop still runs.
  void abandon();
  // For its readers: nothing of it changes any more.
  void close();

  std::uint64_t totalBytes() const { return output_.totalBytes(); }
  std::uint64_t droppedBytes() const { return output_.droppedBytes(); }
  std::uint64_t lines() const { return output_.lines(); }
  std::uint64_t shownBytes() const { return output_.shownBytes(); }
  using Shown = actions::Outgoing<redaction::Boundary::kApiResponse, schema::Output>;
  void fillOutput(std::int64_t after, Shown output) const {
    output_.fill<redaction::Category::kContainerOutput>(after, output);
  }
  // Resolves when output was shown or it ended.
  kj::Promise<void> whenChanged();

 private:
  class Sink;
  void taskFailed(kj::Exception&& exception) override;
  void received(schema::OutputStream stream, capnp::Data::Reader bytes, std::uint64_t dropped);
  void drained(std::uint64_t totalBytes, std::uint64_t droppedBytes);
  void misbehaved(redaction::Literal breach);
  // Also of a worker that was let go of while its answer was still awaited.
  kj::Promise<Refused> whyLost(const kj::Exception& exception);
  kj::Promise<RunEnding> lostWorker(kj::Exception&& exception);
  RunEnding judge(schema::ContainerOutcome::Reader outcome);
  RunEnding endingOf(const char* failure) const;
  state::ActionCounts counts() const;
  void planTick();
  void wake();

  Core& core_;
  ContainerEngines& engines_;
  std::string actionId_;
  audit::Label owner_;
  kj::Duration patience_;  // from its start to its end, the worker's own bounds and then some
  SessionOutput output_;
  std::uint64_t lostBytes_ = 0;     // as the worker counts them
  std::shared_ptr<LiveRun*> self_;  // what the sink holds: null once this object is gone
  std::shared_ptr<EngineWorker> worker_;
  kj::Maybe<schema::ContainerRun::Client> run_;
  const char* endReason_ = nullptr;
  bool drained_ = false;
  bool misbehaved_ = false;
  bool ended_ = false;
  bool ticking_ = false;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> watchers_;
  kj::TaskSet tasks_;
};

// What the caller hears of a denial by a container worker. Its words are names of ours; one that is none is
// an engine that failed.
Refused containerDenied(schema::Denial::Reader denial);

}  // namespace factionos::broker
