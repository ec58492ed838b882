#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/policy/policy.h"

namespace factionos::policy {

// The operator's promise that exactly one subject need not ask until a given time. It holds no pattern:
// another program, another network profile or another principal asks again.
struct Grant {
  std::string id;  // "grt_…", given by the broker
  Subject subject;
  Time created{};
  Time until{};
  std::string grantedBy;  // principal id of the operator
};

// All grants in force, visible as they are. Grants turn ask into allow and never touch a deny.
class GrantList {
 public:
  // Refused: until not after `created`, an unknown, unavailable, read-only or session-covered operation, no
  // principal, a program that a terminal run must have and lacks, a malformed label, an id in use.
  Status add(Grant grant);
  bool revoke(std::string_view id);
  std::vector<Grant> removeExpired(Time now);  // what was removed, for audit
  const std::vector<Grant>& all() const { return grants_; }

  const Grant* find(const Subject& subject, Time now) const;

 private:
  std::vector<Grant> grants_;
};

}  // namespace factionos::policy
