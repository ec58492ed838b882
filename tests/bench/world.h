// What the suites share: a broker whose policy allows what is measured, and a look at memory that needs root.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "live_broker.h"

namespace factionos::bench {

// A broker that allows terminal.run, and keeps up to 256 sessions.
std::unique_ptr<test::LiveBroker> allowingBroker();

// Until the outcome of what `started` answered is durable. Throws std::runtime_error if it did not succeed.
void awaitOutcome(test::LiveBroker& broker, const test::Reply& started, const std::string& token);

// Runs `command` (JSON members, as LiveBroker::run has them) and waits until its outcome is durable. The time
// in milliseconds. Throws std::runtime_error if it does not succeed.
double runToOutcome(test::LiveBroker& broker, const std::string& command, const std::string& token,
                    const std::string& key);

// Processor time that a process has used, all of its threads.
double cpuSeconds(pid_t pid);

// The ordinary user reads nobody's memory map: whoever was root leaves a child behind that does it for him.
class Meter {
 public:
  Meter();  // before the user is changed and before any thread exists
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // Proportional set size of one process in KiB; nothing if it may not be known.
  std::optional<std::uint64_t> pssKib(pid_t pid);

 private:
  int line_ = -1;
  pid_t child_ = 0;
};

}  // namespace factionos::bench
