// What runner and actor share: memory, so that telling and waiting need no call but futex and sleep.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "sandbox/setup_error.h"
#include "sandbox/verify/act.h"

namespace factionos::sandbox::verify {

// Descriptors that every actor has before it enters, in the places where workers have theirs.
inline constexpr int kLineDescriptor = 3;    // a socketpair
inline constexpr int kEventsDescriptor = 4;  // a pipe for event records
inline constexpr int kScopeDescriptor = 5;   // a directory, O_PATH: a broker's home, a session's workspace
inline constexpr int kTaskDescriptor = 6;    // its own /proc/self/task
inline constexpr int kLeakDescriptor = 91;   // of the private file: no profile keeps it

struct Desk {
  enum class Phase : int { kStarting, kUnentered, kEntered, kFailed, kEnded };
  static_assert(std::atomic<int>::is_always_lock_free);

  std::atomic<std::uint32_t> turn{0};  // a futex; changes with each of the following
  std::atomic<Phase> phase{Phase::kStarting};
  std::atomic<int> asked{0};             // counts what the actor was asked to try
  std::atomic<int> answered{0};          // and what it came back from
  std::atomic<const Act*> act{nullptr};  // what is asked now; null: end
  std::atomic<bool> mayEnter{false};
  std::atomic<int> waitStatus{0};  // of the actor, once kEnded
  std::atomic<std::uint32_t> heartbeats{0};
  std::atomic<bool> stop{false};  // for whoever was left behind
  Evidence evidence;

  // With kFailed.
  unsigned step = 0;
  int error = 0;
  std::array<char, 48> reason = {};

  // Nothing more is asked.
  [[nodiscard]] bool isOver() const { return asked != 0 && act == nullptr; }
  // Tells the others that something has changed.
  void changed();
  // Until it holds, or for so long. False: time is over.
  template <typename Condition>
  bool waitUntil(Condition holds, std::chrono::milliseconds patience);

  // In a process that was left behind: until the runner says so, or two seconds have passed.
  void beatUntilStopped();
  // In the runner: whether somebody beats now.
  [[nodiscard]] bool stillBeats() const;

 private:
  void waitForChange(std::uint32_t since) const;
};

template <typename Condition>
bool Desk::waitUntil(Condition holds, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    const std::uint32_t since = turn;
    if (holds()) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    waitForChange(since);
  }
}

// About a tenth of a millisecond.
void waitALittle();

}  // namespace factionos::sandbox::verify
