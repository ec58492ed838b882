#include <chrono>
#include <stdexcept>

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/suites.h"

namespace factionos::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::string lineOf(std::uint64_t bytes) {
  return "yes 'ordinary build output: compiling source file 17 of 300, no warnings' | head -c " +
         std::to_string(bytes);
}

// What reads a terminal and does nothing else.
double rawPump(const std::string& line) {
  const auto begin = Clock::now();
  int master = -1;
  const pid_t child = ::forkpty(&master, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  std::vector<char> buffer(65536);
  std::uint64_t total = 0;
  for (ssize_t got = 0; (got = ::read(master, buffer.data(), buffer.size())) > 0;)
    total += static_cast<std::uint64_t>(got);
  ::close(master);
  ::waitpid(child, nullptr, 0);
  return static_cast<double>(total) / std::chrono::duration<double>(Clock::now() - begin).count() / 1e6;
}

}  // namespace

void measureTerminal(Report& report, Effort effort, Meter&) {
  const std::uint64_t bytes = effort == Effort::kFull ? 256'000'000 : 16'000'000;
  const auto broker = allowingBroker();
  const auto token = broker->token();
  const std::string line = lineOf(bytes);
  std::vector<double> ours;
  std::vector<double> raw;
  for (int i = 0; i < 5; ++i) {
    raw.push_back(rawPump(line));
    const auto begin = Clock::now();
    const auto started = broker->propose(R"("shell":)" + test::json(line), token, "pty" + std::to_string(i));
    if (started.status != 201) throw std::runtime_error("the flood was not started: " + started.body);
    const auto ended = broker->ended(started.at("/session/id"), token);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (ended.at("/session/exit/code") != "0") throw std::runtime_error("the flood failed: " + ended.body);
    ours.push_back(static_cast<double>(ended.number("/session/totalBytes")) / seconds / 1e6);
  }
  report.add({.suite = "terminal",
              .what = "output, masked, bounded",
              .unit = "MB/s",
              .value = quantile(ours, 0.5),
              .beside = Beside{"a pump that only reads", quantile(raw, 0.5)},
              .aim = "≥ 0.5"});
}

}  // namespace factionos::bench
