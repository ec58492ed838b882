#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <kj/async.h>

#include "broker/core/core.h"
#include "broker/executors/workers.h"

namespace factionos::broker {

// One running worker of one workspace. Whoever holds it keeps it from being ended as idle.
struct ScopedWorker {
  std::string workspace;  // its name
  StartedWorker started;
  capnp::Capability::Client service;
  kj::TimePoint used;

  template <typename Interface>
  typename Interface::Client as() {
    return service.castAs<Interface>();
  }
};

// The workers of one role, one for each workspace that is in use: started at the first request, kept while
// there are more, ended when idle. One that is lost is replaced at the next request.
class ScopedWorkers final : private kj::TaskSet::ErrorHandler {
 public:
  // `role`: a row of the launcher's table with a workspace. `name`: for the log.
  // `fillScope`: what such a worker is to reach for a workspace; without it, its directory.
  using FillScope = std::function<void(const home::WorkspaceEntry&, schema::WorkerScope::Builder)>;
  ScopedWorkers(Core& core, Workers& workers, schema::Role role, redaction::Literal name,
                FillScope fillScope = directoryAlone);
  ~ScopedWorkers() noexcept(false);

  kj::Promise<Outcome<std::shared_ptr<ScopedWorker>>> take(const home::WorkspaceEntry& workspace);

  // Calls that fail, and what their callers hear. The worker is not handed out again.
  // `exception`: of the call. timed_out where it did not answer, worker_misbehaved where it broke the rules.
  kj::Promise<Refused> whyLost(std::shared_ptr<ScopedWorker> worker, const kj::Exception& exception);
  // The next request gets another one; whoever holds this one may go on with it.
  void replace(const std::shared_ptr<ScopedWorker>& worker) { forget(*worker); }
  // It said something that no worker of ours says.
  Refused misbehaved(const std::shared_ptr<ScopedWorker>& worker, redaction::Literal breach);

 private:
  static void directoryAlone(const home::WorkspaceEntry& workspace, schema::WorkerScope::Builder scope);
  using Started = Outcome<std::shared_ptr<ScopedWorker>>;
  void taskFailed(kj::Exception&& exception) override;
  void forget(const ScopedWorker& worker);
  kj::Promise<Started> start(const home::WorkspaceEntry& workspace);
  kj::Promise<void> watch(std::shared_ptr<ScopedWorker> worker);
  kj::Promise<void> endIdle();

  Core& core_;
  Workers& workers_;
  schema::Role role_;
  redaction::Literal name_;
  FillScope fillScope_;
  std::map<std::string, std::shared_ptr<ScopedWorker>> running_;
  std::map<std::string, kj::ForkedPromise<Started>> starting_;
  kj::TaskSet tasks_;
};

template <typename T>
const Refused* refusalIn(const Outcome<T>& reply) {
  return std::get_if<Refused>(&reply);
}
inline const Refused* refusalIn(const std::optional<Refused>& reply) {
  return reply ? &*reply : nullptr;
}

// One that had died before it was asked and nobody had noticed, one that dies meanwhile, and one that
// answers. A request at which every worker dies costs no more than these.
inline constexpr unsigned kReadAttempts = 3;

// What only reads has no effect: where its worker is lost another one is asked, up to kReadAttempts in all.
// `attempt`: () → kj::Promise<Outcome<…>>, or of an optional Refused; it lives until the answer.
template <typename Attempt>
auto attemptUpTo(unsigned attempts, Attempt& attempt) -> decltype(attempt()) {
  return attempt().then([attempts, &attempt](auto&& reply) -> decltype(attempt()) {
    const auto* refused = refusalIn(reply);
    const bool lost = refused != nullptr && refused->code == schema::ProblemCode::SANDBOX_UNAVAILABLE;
    if (lost && attempts > 1) return attemptUpTo(attempts - 1, attempt);
    return kj::mv(reply);
  });
}
template <typename Attempt>
auto readAgainIfLost(Attempt attempt) -> decltype(attempt()) {
  auto held = kj::heap<Attempt>(kj::mv(attempt));
  auto answer = attemptUpTo(kReadAttempts, *held);
  return answer.attach(kj::mv(held));
}

inline constexpr unsigned kVerdictAttempts = 4;
inline constexpr auto kAskAgain = 100 * kj::MILLISECONDS;

// What became of an action is asked until somebody tells, `attempts` times, a moment apart: whoever is asked
// may be lost, too. `ask`: () → kj::Promise<std::optional<…>>, which does not fail; copied.
template <typename Ask>
auto askedUpTo(unsigned attempts, kj::Timer& timer, Ask ask) -> decltype(ask()) {
  return ask().then([attempts, &timer, ask](auto&& answer) -> decltype(ask()) {
    if (answer || attempts <= 1) return kj::mv(answer);
    return timer.afterDelay(kAskAgain).then(
        [attempts, &timer, ask]() { return askedUpTo(attempts - 1, timer, ask); });
  });
}
}  // namespace factionos::broker
