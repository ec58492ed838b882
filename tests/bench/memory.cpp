#include <cstdio>

#include "process.h"
#include "tests/bench/suites.h"

namespace factionos::bench {
namespace {

// The broker and all below it, but for the commands themselves.
double treeMib(test::LiveBroker& broker, Meter& meter, unsigned& processes) {
  std::uint64_t kib = 0;
  processes = 0;
  auto pids = test::descendants(broker.pid());
  pids.push_back(broker.pid());
  for (const pid_t pid : pids) {
    if (test::readFile("/proc/" + std::to_string(pid) + "/comm") == "sleep\n") continue;
    if (const auto size = meter.pssKib(pid)) {
      kib += *size;
      ++processes;
    }
  }
  return static_cast<double>(kib) / 1024;
}

}  // namespace

void measureMemory(Report& report, Effort effort, Meter& meter) {
  const int sessions = effort == Effort::kFull ? 50 : 5;
  const auto broker = allowingBroker();
  const auto token = broker->token();
  runToOutcome(*broker, R"("command":["true"])", token, "warm");
  unsigned idleProcesses = 0;
  const double idle = treeMib(*broker, meter, idleProcesses);
  if (idleProcesses < 3) {
    std::printf("memory    only root can see what processes that are not dumpable use: nothing measured\n");
    return;
  }
  report.add({.suite = "memory",
              .what = "whole tree, idle, proportional set size",
              .unit = "MiB",
              .value = idle,
              .aim = "≤ 40",
              .note = std::to_string(idleProcesses) + " processes"});
  for (int i = 0; i < sessions; ++i)
    broker->propose(R"("command":["sleep","600"])", token, "sleep" + std::to_string(i));
  unsigned busyProcesses = 0;
  const double busy = treeMib(*broker, meter, busyProcesses);
  report.add(
      {.suite = "memory",
       .what = "one session more, its command aside",
       .unit = "MiB",
       .value = (busy - idle) / sessions,
       .aim = "≤ 4",
       .note = std::to_string(busyProcesses - idleProcesses) + " processes for " + std::to_string(sessions)});
}

}  // namespace factionos::bench
