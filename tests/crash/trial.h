#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/crash/rig.h"

namespace factionos::test {

// One guarded action whose command appends its own name to a file of the workspace, then waits for a line:
// the effect that may happen once. Driven as a client drives it: the same key, again and again, whatever
// happened.
class Trial {
 public:
  Trial(const Rig& rig, std::string name) : rig_(rig), name_(std::move(name)) {}

  enum class End {
    kSettled,  // the action has an outcome, or the request was refused for good
    kNobody,   // the broker is gone
    kStuck,    // neither, for half a minute, or a request that was never answered
  };
  // From wherever the action stands to its end.
  End drive();
  // Proposes and approves, no more. True if the broker said yes to both.
  bool approve();

  const std::string& name() const { return name_; }
  const std::string& action() const { return action_; }
  const std::string& session() const { return session_; }
  // As the broker tells it; empty: it knows none.
  std::string state() const;
  std::string failure() const;
  std::size_t effects() const;
  // How often the audit says that it came to a state, not counting what is void.
  std::size_t recorded(const std::string& state) const;
  std::size_t beginnings() const { return recorded("executing"); }
  const std::string& trace() const { return trace_; }  // what was answered, for a failure's message

 private:
  enum class Next { kAgain, kLater, kDone };
  Next take(const Reply& reply);
  Next judgeProblem(const Reply& reply);
  Reply request();
  void attend();

  const Rig& rig_;
  std::string name_;
  std::string action_;
  std::string session_;
  std::uint64_t approved_ = 0;  // the revision of the approval
  std::string trace_;
};

bool isOutcome(const std::string& state);

// A test's name from the place that it stops at.
std::string placeName(const testing::TestParamInfo<std::string>& info);

}  // namespace factionos::test
