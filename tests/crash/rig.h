#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "broker/audit/line.h"
#include "broker/audit/verify.h"
#include "http.h"
#include "tests/crash/control.h"

namespace factionos::test {

// Whom a test kills.
enum class Victim { kBroker, kLauncher, kFront, kSession, kKeeper, kPty, kSpare, kCommand, kContainer };
// Those whose death ends the broker come last, so that one broker serves the cells before.
inline constexpr Victim kVictims[] = {Victim::kFront, Victim::kSession, Victim::kKeeper, Victim::kPty,
                                      Victim::kSpare, Victim::kCommand, Victim::kBroker, Victim::kLauncher};
const char* nameOf(Victim victim);

// A home and a workspace of their own, served by factionosd-faulty, one start after the other. The caller
// speaks to it in-process: HTTP over api.sock, the operator's key over operator.sock.
class Rig {
 public:
  Rig();
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  // Starts a broker that stops at `places` (see faulty_broker.cpp). Does not wait.
  void start(const std::string& places = {});
  // The same for a broker that runs, in place of what it was told before.
  void stopAt(const std::string& places);
  // Until it takes connections; false if it ended instead.
  bool serving();
  enum class Change { kStopped, kEnded };
  // Until it stops itself or ends.
  Change await();
  // Whether it has ended by now; does not wait.
  bool ended();
  void resume() const;
  void runOut();  // resumes it at every stop until it has ended
  void signal(int number) const;
  // Ends it by SIGKILL, or in order; exit status, or 256 + signal.
  int kill();
  int stop();
  int status() const { return status_; }
  bool dumpedCore() const { return dumped_; }
  bool alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

  // Every process below the broker now.
  std::vector<pid_t> tree() const;
  std::vector<pid_t> find(Victim victim) const;
  static bool gone(const std::vector<pid_t>& processes);  // waits, at most 15 s
  // Of all processes of that kind; nothing where the test may not look (see inspector.h).
  std::optional<std::size_t> descriptors(Victim victim) const;

  Control& control() { return *control_; }
  const std::string& home() const { return home_; }
  const std::string& workspace() const { return workspace_; }
  const std::string& root() const { return root_; }
  std::string log() const;

  bool reachable() const;  // api.sock takes a connection
  Reply get(const std::string& target) const;
  Reply post(const std::string& target, const std::string& body, const std::string& key) const;
  // Over operator.sock. The problem's code as a number, 0: done, -1: no broker.
  int approve(const std::string& action, std::uint64_t revision) const;
  int reject(const std::string& action, std::uint64_t revision) const;

  audit::Verdict verify() const;
  std::vector<audit::Line> records() const;
  bool scratchIsEmpty() const;

 private:
  int decide(const std::string& action, std::uint64_t revision, bool approve) const;
  void note(int status);
  std::string root_, home_, workspace_;
  Control* control_ = nullptr;
  pid_t pid_ = -1;
  int status_ = 0;
  bool dumped_ = false;
  int address_ = -1;  // the pipe that the broker prints its address to
};

}  // namespace factionos::test
