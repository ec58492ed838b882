#include "tests/bench/world.h"

#include <chrono>
#include <fstream>
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
                  .policy = "[[rule]]\nfamily = \"terminal\"\noperation = \"run\"\ndecision = \"allow\"\n"
                            "until = 2099-01-01T00:00:00Z\nreason = \"measured\"\n"
                            "[[rule]]\nfamily = \"terminal\"\noperation = \"*\"\nprogram = \"sh\"\n"
                            "decision = \"allow\"\nuntil = 2099-01-01T00:00:00Z\nreason = \"measured\"\n"});
}

double runToOutcome(test::LiveBroker& broker, const std::string& command, const std::string& token,
                    const std::string& key) {
  const auto begin = std::chrono::steady_clock::now();
  const auto started = broker.propose(command, token, key);
  if (started.status != 201) throw std::runtime_error("the command was not started: " + started.body);
  const std::string id = started.at("/action/id");
  for (;;) {
    const auto action = broker.get("/v1/actions/" + id + "?waitMs=10000", token);
    const std::string state = action.at("/action/state");
    if (state == "succeeded") break;
    if (state != "executing") throw std::runtime_error("the command did not succeed: " + action.body);
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
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
