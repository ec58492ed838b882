#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/crash/rig.h"

namespace factionos::test {

// One guarded request of a family that has no sessions, asked for as a client does, with the same key, until
// it has an end.
class Change {
 public:
  // `members`: of the body, beside the workspace.
  Change(const Rig& rig, std::string route, std::string members, std::string key)
      : rig_(rig), route_(std::move(route)), members_(std::move(members)), key_(std::move(key)) {}

  // False where nobody answers any more, or nothing came of it for half a minute.
  bool drive();
  const std::string& action() const { return action_; }
  // As the broker tells it; empty: it knows none.
  std::string state() const;

 private:
  Reply request() const;

  const Rig& rig_;
  std::string route_;
  std::string members_;
  std::string key_;
  std::string action_;
  std::uint64_t approved_ = 0;  // the revision of the approval
};

// Starts the broker, has `drive` done beside it, and kills it where it stops at `place`. Fails the test
// fatally where it never does.
void dieAt(Rig& rig, const std::string& place, const std::function<void()>& drive);
// The broker dies when the effect has been done and nobody heard of it, and again where the next start, which
// looks up what became of it, stops at `place`.
void dieInReconciliation(Rig& rig, const std::string& place, const std::function<void()>& drive);

}  // namespace factionos::test
