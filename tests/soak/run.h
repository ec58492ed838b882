#pragma once

#include <chrono>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/crash/rig.h"

namespace factionos::test {

struct Summary {
  std::map<std::string, std::uint64_t> counts;  // kills by victim, operations by kind, endings by state
  std::vector<std::string> breaches;            // broken promises, in words
};

// One home in which broker after broker is driven and killed. Many runs share it, since making one costs more
// than a run.
class Soak {
 public:
  Soak(std::mt19937_64& random, Summary& summary);
  ~Soak();

  // Some random operations, a random process killed at a random moment, and what must hold afterwards.
  void run();
  // Everything that this home was asked to do, once more with all its keys.
  void settle();

 private:
  struct Asked {
    std::string key;
    std::string action;
    std::string session;
    std::uint64_t approved = 0;
    std::string outcome;  // once it was seen, it must stay
  };

  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(random_);
  }
  void operate();
  void request(Asked& asked);
  void useSession(const Asked& asked);
  Reply heard(Reply reply, const char* what);
  void refuseRestart(const Reply& reply);
  // Drawn before the client runs, so that a seed gives the same kills however the two interleave.
  struct Kill {
    std::chrono::microseconds moment;
    std::uint64_t which;  // of the processes that there are
  };
  Victim carryOut(const Kill& kill);
  void ensureBroker();
  enum class Scope { kOpen, kAll };
  void check(Scope scope);
  void checkAudit();
  void breach(const std::string& what);

  std::mt19937_64& random_;
  Summary& summary_;
  Rig rig_;
  std::vector<Asked> asked_;
  std::map<Victim, std::uint64_t> kills_;  // apart from the summary, which the client writes meanwhile
};

}  // namespace factionos::test
