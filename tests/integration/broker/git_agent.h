#pragma once

#include <string>

#include "live_broker.h"

namespace factionos::test {

// An agent that works in a repository in the workspace "demo".
class GitAgent {
 public:
  explicit GitAgent(LiveBroker& broker, const std::string& name = {});

  // One commit "first" with a.txt on main; a.txt changed since, and b.txt untracked.
  void makeRepository();
  // A line of sh in the workspace, with no configuration but the repository's. What it printed, trimmed. A
  // failure fails the test.
  std::string shell(const std::string& line);
  std::string git(const std::string& arguments) { return shell("git " + arguments); }

  // `members`: of the body, beside the workspace.
  Reply ask(const std::string& operation, const std::string& members = {});
  Reply change(const std::string& operation, const std::string& members, const std::string& key,
               const std::string& approval = {});
  static std::string approval(const std::string& actionId, std::uint64_t revision = 2);
  // Proposes, has it approved, does it.
  Reply carryOut(const std::string& operation, const std::string& members, const std::string& key);

  const std::string& token() const { return token_; }

 private:
  LiveBroker& broker_;
  std::string token_;
};

}  // namespace factionos::test
