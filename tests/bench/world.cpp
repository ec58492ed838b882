#include "tests/bench/world.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace factionos::bench {
namespace {

std::uint64_t readPss(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pss:")) return std::stoull(line.substr(4));
  }
  return 0;
}

}  // namespace

std::unique_ptr<test::LiveBroker> allowingBroker() {
  return std::make_unique<test::LiveBroker>(
      test::Setup{.limits = "max_sessions = 256",
                  .policy = "[[rule]]\nfamily = \"terminal\"\noperation = \"list\"\ndecision = \"allow\"\n"
                            "reason = \"measured\"\n"
                            "[[rule]]\nfamily = \"container\"\noperation = \"list\"\ndecision = \"allow\"\n"
                            "reason = \"measured\"\n"
                            "[[rule]]\nfamily = \"terminal\"\noperation = \"run\"\ndecision = \"allow\"\n"
                            "until = 2099-01-01T00:00:00Z\nreason = \"measured\"\n"
                            "[[rule]]\nfamily = \"terminal\"\noperation = \"*\"\nprogram = \"sh\"\n"
                            "decision = \"allow\"\nuntil = 2099-01-01T00:00:00Z\nreason = \"measured\"\n"});
}

void awaitOutcome(test::LiveBroker& broker, const test::Reply& started, const std::string& token) {
  const std::string target = "/v1/actions/" + started.at("/action/id") + "?waitMs=10000&seenRevision=";
  for (auto seen = started.at("/action/revision");;) {
    const auto reply = broker.get(target + seen, token);
    const std::string state = reply.at("/action/state");
    if (state == "succeeded") return;
    if (state != "executing") throw std::runtime_error("the command did not succeed: " + reply.body);
    seen = reply.at("/action/revision");
  }
}

double runToOutcome(test::LiveBroker& broker, const std::string& command, const std::string& token,
                    const std::string& key) {
  const auto begin = std::chrono::steady_clock::now();
  const auto started = broker.propose(command, token, key);
  if (started.status != 201) throw std::runtime_error("the command was not started: " + started.body);
  awaitOutcome(broker, started, token);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double cpuSeconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream fields(line.substr(line.rfind(')') + 1));  // the name may hold blanks
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Meter::Meter() {
  int ends[2];
  if (::geteuid() != 0 || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[0]);
    pid_t pid = 0;
    while (::read(ends[1], &pid, sizeof pid) == static_cast<ssize_t>(sizeof pid)) {
      const std::uint64_t size = readPss(pid);
      if (::write(ends[1], &size, sizeof size) < 0) break;
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  line_ = ends[0];
}

Meter::~Meter() {
  if (line_ < 0) return;
  ::close(line_);
  ::waitpid(child_, nullptr, 0);
}

std::optional<std::uint64_t> Meter::pssKib(pid_t pid) {
  std::uint64_t size = 0;
  if (line_ < 0) {
    size = readPss(pid);
  } else if (::write(line_, &pid, sizeof pid) < 0 || ::read(line_, &size, sizeof size) < 0) {
    return std::nullopt;
  }
  return size == 0 ? std::nullopt : std::optional(size);
}

}  // namespace factionos::bench
