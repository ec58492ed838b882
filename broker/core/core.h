#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include "broker/actions/refusal.h"
#include "broker/audit/audit_log.h"
#include "broker/core/steps.h"
#include "broker/home/config.h"
#include "broker/home/home.h"
#include "broker/idempotency/idempotency.h"
#include "broker/identity/principal.h"
#include "broker/state/async_writer.h"
#include "broker/state/database.h"
#include "broker/state/ids.h"
#include "broker/state/keys.h"
#include "protocol/rpc/loop.h"

namespace factionos::broker {

using actions::Refused;

// Tells that something changed which the published snapshot shows.
class Pulse {
 public:
  void touch() { wake_(); }
  void onTouch(kj::Function<void()> wake) { wake_ = kj::mv(wake); }

 private:
  kj::Function<void()> wake_ = []() {};
};

// Whether the last commit found what it writes to writable. Diagnostics tell.
struct Health {
  bool audit = true;
  bool state = true;
};

// What every service of the broker works with. Made by main, borrowed by all, used on the loop's thread
// alone.
struct Core {
  rpc::Loop& loop;
  kj::Timer& timer;
  state::Database& reader;  // read-only connection of the loop's thread
  state::AsyncWriter& writer;
  const state::Keys& keys;
  state::IdGenerator& ids;
  const idempotency::Idempotency& idempotency;
  const idempotency::LivedClock& lived;
  const audit::AuditPaths& auditPaths;
  const home::Home& home;
  const home::Config& config;
  const std::string&
      scratch;            // absolute path of run/scratch, in which sessions make their temporary directories
  std::uint16_t apiPort;  // that the front listens on; 0: none
  Pulse& changes;
  Health& health;
  StepPoints* steps = nullptr;  // of tests alone
};

// Keys whose first request is under way in this process: a repeat is told so without asking the database.
class KeysUnderWay {
 public:
  class Claim {
   public:
    Claim(KeysUnderWay& keys, std::pair<std::string, std::string> key) : keys_(keys), key_(std::move(key)) {}
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() { keys_.keys_.erase(key_); }

   private:
    KeysUnderWay& keys_;
    std::pair<std::string, std::string> key_;
  };

  // Null if the same principal's same key is under way already.
  std::unique_ptr<Claim> claim(std::string principal, std::string key) {
    auto pair = std::make_pair(std::move(principal), std::move(key));
    if (!keys_.insert(pair).second) return nullptr;
    return std::make_unique<Claim>(*this, std::move(pair));
  }

 private:
  std::set<std::pair<std::string, std::string>> keys_;
};

// A value, or why there is none.
template <typename T>
using Outcome = std::variant<T, Refused>;

template <typename T>
const Refused* refusedIn(const Outcome<T>& outcome) {
  return std::get_if<Refused>(&outcome);
}

// Runs `mutation` (copyable; Transaction& → T) in the next group commit. `step`: what it records. What it
// threw, or what the disk said, comes back as Refused; then nothing of it is in the state.
template <typename T, typename Mutation>
kj::Promise<Outcome<T>> commit(Core& core, Step step, Mutation mutation) {
  reach(core.steps, step, Edge::kBefore);
  auto slot = std::make_shared<std::optional<T>>();
  return core.writer
      .commit(
          [slot, mutation](state::Transaction& transaction) mutable { slot->emplace(mutation(transaction)); })
      .then([slot, &core, step](state::CommitOutcome&& outcome) -> Outcome<T> {
        reach(core.steps, step, Edge::kAfter);
        try {
          outcome.orThrow();
          core.health = {};
          return std::move(**slot);
        } catch (...) {
          auto refused = actions::refusedBy(std::current_exception());
          core.health.audit = refused.code != schema::ProblemCode::AUDIT_UNAVAILABLE;
          core.health.state = refused.code != schema::ProblemCode::STATE_UNAVAILABLE;
          if (!core.health.audit || !core.health.state) core.changes.touch();
          return refused;
        }
      });
}

}  // namespace factionos::broker
