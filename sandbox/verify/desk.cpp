#include "sandbox/verify/desk.h"

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace factionos::sandbox::verify {
namespace {

constexpr int kBeats = 20'000;         // of a tenth of a millisecond
constexpr int kListeningRounds = 800;  // a process that lives is given a turn within 80 ms

}  // namespace

void waitALittle() {
  const timespec time{0, 50'000};
  nanosleep(&time, nullptr);
}

void Desk::changed() {
  ++turn;
  syscall(SYS_futex, &turn, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Not for long: who was to tell of a change may be dead.
void Desk::waitForChange(std::uint32_t since) const {
  const timespec limit{0, 50'000'000};
  syscall(SYS_futex, &turn, FUTEX_WAIT, since, &limit, nullptr, 0);
}

void Desk::beatUntilStopped() {
  for (int beat = 0; beat < kBeats && !stop; ++beat) {
    ++heartbeats;
    waitALittle();
  }
}

bool Desk::stillBeats() const {
  const std::uint32_t before = heartbeats;
  for (int round = 0; round < kListeningRounds; ++round) {
    if (heartbeats != before) return true;
    waitALittle();
  }
  return false;
}

}  // namespace factionos::sandbox::verify
