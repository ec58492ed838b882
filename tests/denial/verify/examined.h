// What verify says of subjects that a test has changed, by an ordinary user's process.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sandbox/verify/run.h"

namespace factionos::test {

struct Judged {
  std::string verdict;
  bool counts = false;
  std::string cause;
};

struct Examined {
  bool passed = false;
  std::map<std::string, Judged> findings;  // by "profile/id"

  [[nodiscard]] const Judged& of(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> thatAre(const std::string& verdict) const;
};

using Change = std::function<void(sandbox::verify::Subject&)>;

// The product's subjects of `profile` (a name or a role; empty: all), each after `change`; `before` runs
// first of all in the process that examines.
Examined examine(const std::string& profile, const Change& change, const std::function<void()>& before = {});

// A change of each policy.
Change changed(std::function<void(sandbox::Policy&)> change);

}  // namespace factionos::test
