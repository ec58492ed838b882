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

enum class Reader { kNone, kFollows };

// MB/s of `line` through a session, from the first byte of the request until its outcome is durable. A reader
// that follows asks for the output, head and tail, again and again meanwhile.
double flood(test::LiveBroker& broker, const std::string& line, const std::string& token,
             const std::string& key, Reader reader) {
  const auto begin = Clock::now();
  const auto started = broker.propose(R"("shell":)" + test::json(line), token, key);
  if (started.status != 201) throw std::runtime_error("the flood was not started: " + started.body);
  const std::string session = started.at("/session/id");
  if (reader == Reader::kFollows) broker.ended(session, token);
  awaitOutcome(broker, started, token);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto ended = broker.ended(session, token);
  return static_cast<double>(ended.number("/session/totalBytes")) / seconds / 1e6;
}

}  // namespace

void measureTerminal(Report& report, Effort effort, Meter&) {
  const bool full = effort == Effort::kFull;
  const std::uint64_t bytes = full ? 128'000'000 : 2'000'000;
  const auto broker = allowingBroker();
  const auto token = broker->token();
  const std::string line = lineOf(bytes);
  std::vector<double> ours;
  std::vector<double> followed;
  std::vector<double> raw;
  for (int i = 0; i < (full ? 5 : 1); ++i) {
    const std::string key = std::to_string(i);
    raw.push_back(rawPump(line));
    ours.push_back(flood(*broker, line, token, "alone" + key, Reader::kNone));
    followed.push_back(flood(*broker, line, token, "followed" + key, Reader::kFollows));
  }
  const Beside beside{"a pump that only reads", quantile(raw, 0.5)};
  report.add({"terminal", "output, masked, bounded", "MB/s", quantile(ours, 0.5), beside, "≥ 0.5"});
  report.add({"terminal", "the same, followed by a reader", "MB/s", quantile(followed, 0.5), beside});
}

}  // namespace factionos::bench
