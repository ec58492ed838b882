#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/core/core.h"
#include "broker/home/home.h"
#include "broker/policy/grant.h"
#include "broker/policy/policy.h"

namespace factionos::broker {

// What the caller of a request that policy does not allow hears.
Refused blockedBy(const policy::Decision& decision);

// Policy and grants as they are in force, with the one revision number that approvals are bound to. It rises
// whenever either changes, so that what was approved under other rules is seen as drifted.
class RuleBook {
 public:
  // `approver`: whether an operator's key exists that could approve.
  RuleBook(const home::Home& home, const state::Keys& keys, policy::Policy rules, policy::Approver approver);

  // Reads the grants and the revision from the state; raises the latter if policy.toml is not what it was. To
  // be run in a mutation before anything is served.
  void restore(state::Transaction& transaction);

  policy::Decision evaluate(policy::Subject subject,
                            policy::SessionCover cover = policy::SessionCover::kNone) const;
  // Why this read is refused. Nobody is asked about what only reads, so whatever is not allowed is denied.
  std::optional<Refused> refusedRead(policy::Subject subject) const;
  // Whether the principal may see the rows of everybody in that family.
  bool mayList(policy::Family family, std::string_view principal) const;
  std::uint64_t revision() const { return revision_; }
  policy::Approver approver() const { return approver_; }
  const policy::Policy& rules() const { return rules_; }
  const policy::GrantList& grants() const { return grants_; }

  // Reads policy.toml again. On an error the old policy stays.
  kj::Promise<home::Result<std::uint64_t>> reload(Core& core);
  kj::Promise<Outcome<std::string>> addGrant(Core& core, policy::Grant grant);
  kj::Promise<Outcome<std::string>> revokeGrant(Core& core, std::string id);

 private:
  const home::Home& home_;
  const state::Keys& keys_;
  policy::Policy rules_;
  policy::GrantList grants_;
  policy::Approver approver_;
  std::uint64_t revision_ = 0;
};

}  // namespace factionos::broker
