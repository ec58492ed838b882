#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "broker/audit/clock.h"

namespace factionos::state {

using audit::Clock;
using audit::Time;

enum class IdKind { kAction, kSession, kRun, kTask, kCampaign, kEvent };

// "act_", "ses_", "run_", "tsk_", "cmp_" or "evt_" and 26 characters of Crockford's base 32: 48 bits of
// milliseconds, 80 random bits. An id is bigger, as text, than every one that the same generator made before,
// also when the clock steps back.
class IdGenerator {
 public:
  // `floor`: no id carries an earlier time. Give the newest time that the state holds, so that order survives
  // a restart.
  explicit IdGenerator(Clock clock = audit::systemNow, Time floor = Time{});

  std::string next(IdKind kind);

 private:
  void advance();

  Clock clock_;
  std::uint64_t lastMs_;
  std::array<std::uint8_t, 10> random_{};
  bool fresh_ = true;
};

std::string_view prefixOf(IdKind kind);
bool isId(IdKind kind, std::string_view text);

// A run has the name of its action, so that either leads to the other without a look-up. Both want an id of
// the other kind.
std::string runIdOf(std::string_view actionId);
std::string actionIdOf(std::string_view runId);

}  // namespace factionos::state
