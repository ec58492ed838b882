#pragma once

#include <kj/async.h>

#include "broker/core/core.h"
#include "broker/executors/container_facts.h"
#include "broker/executors/workers.h"

namespace factionos::broker {

// Apple's containers, as far as this build knows them: it runs none. There is no socket to ask; the program
// that config.toml names is started by a worker of its own, for one question, and what it says changes the
// reason alone.
class AppleRuntime final : private kj::TaskSet::ErrorHandler {
 public:
  AppleRuntime(Core& core, Workers& workers);

  // Never ready. Reason: unsupported_platform (no program is named, and then none is started; or it answered
  // well), program_missing, program_untrusted, not_understood, no_answer, failed, worker_unavailable. Within
  // kAnswerLimit, and the time that a worker needs to start. What was found less than a moment ago is found
  // again without asking.
  kj::Promise<Gate> ask();
  // As it was found last, without asking.
  Gate last() const;

  static constexpr auto kAnswerLimit = 2 * kj::SECONDS;  // of the program

 private:
  void taskFailed(kj::Exception&& exception) override;
  kj::Promise<Gate> start();
  kj::Promise<Gate> question(StartedWorker worker);

  struct Found {
    kj::TimePoint at;
    Gate gate;
  };

  Core& core_;
  Workers& workers_;
  std::optional<Found> found_;
  kj::Maybe<kj::ForkedPromise<Gate>> asking_;
  kj::TaskSet tasks_;
};

}  // namespace factionos::broker
