// The supervisor's end of seccomp's user notification: hears of a call that waits, looks at what it was
// given, and answers in its stead. Mechanism only: what may be answered is the caller's to judge.
//
// What a pointer of a waiting call leads to can change at any time, by another thread of that program. It is
// copied once, judged and used as that copy; letGoOn() makes the kernel read it anew, so nothing that matters
// may hang on what was seen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <linux/seccomp.h>
#include <sys/types.h>

#include "sandbox/descriptors.h"
#include "sandbox/seccomp.h"

namespace factionos::sandbox {

// One call that waits. `thread` is as this process sees it; that it still is the caller's number is true as
// long as the notification is valid, so look first, then ask isValid().
struct Notification {
  std::uint64_t id = 0;
  pid_t thread = 0;
  int number = -1;  // this architecture's; entries of others are for the filter to refuse
  std::array<std::uint64_t, 6> arguments = {};
};

// What this kernel must have: a listener, answers that hand over a descriptor (5.14), and a wait that only
// death ends once a call has been heard of (5.19): else a signal would start a call again that was carried
// out already.
bool canSupervise();

enum class OnExec : std::uint8_t { kKeepOpen, kClose };

class NotifyListener {
 public:
  // Takes over what loadProgram() returned. Asks the kernel to wake the supervisor on the caller's own
  // processor (6.6); does without where it can't. Whom it answers is drawn to the supervisor's only while
  // nobody else calls: two that work side by side would be drawn to the same one again and again
  // (docs/measuring.md).
  explicit NotifyListener(Fd listener);

  // Blocks. Nothing: a signal came, the caller died first, or nobody is left to call; ask again unless
  // isOver().
  [[nodiscard]] std::optional<Notification> receive();
  // No living process has the filter any more: receive() returns at once from now on.
  [[nodiscard]] bool isOver() const;
  [[nodiscard]] bool isValid(std::uint64_t id) const;

  // Each answers once; that the caller has died meanwhile is no error.
  void succeed(std::uint64_t id, std::int64_t value) const;
  void fail(std::uint64_t id, int error) const;  // 1 to 4095
  // The kernel carries the call out as if nobody had asked, with what the pointers lead to then.
  void letGoOn(std::uint64_t id) const;
  // The call returns a new descriptor of what `file` is; it fails where the caller may have no more.
  void give(std::uint64_t id, int file, OnExec onExec) const;
  // The same, and `file` is closed here before the caller hears of it, which takes it one more wake-up: for a
  // FIFO, say, that must not seem open once the caller has closed it.
  void giveAway(std::uint64_t id, Fd file, OnExec onExec) const;

  [[nodiscard]] int get() const { return listener_.get(); }

 private:
  class Apart;
  static constexpr unsigned kAlone =
      64;  // calls of one thread in a row; who loads a library makes some twenty

  void answer(seccomp_notif_resp response) const;
  [[nodiscard]] int add(std::uint64_t id, int file, OnExec onExec, std::uint32_t flags) const;

  Fd listener_;
  pid_t last_ = 0;
  unsigned inARow_ = 0;
};

// The calls that NotifyListener makes; the ioctls are compared on 32 bits.
Family listenerCalls();

// Takes what sendListener() (self_check.h) sent; empty at end of file.
Fd receiveListener(int socket);

// Copies `bytes` of the waiting thread. 0, or an errno: EFAULT as the kernel would say, EPERM if it is not to
// be looked at (it made itself undumpable).
int readMemory(pid_t thread, std::uint64_t address, std::span<std::byte> bytes);

// A NUL-terminated text, without the NUL: its length, or a negative errno: -ENAMETOOLONG if no NUL is within
// `space`, else as readMemory().
ssize_t readText(pid_t thread, std::uint64_t address, std::span<char> space);

}  // namespace factionos::sandbox
