// The thread whose call waits, as its gofer sees it. Everything is looked at once, and holds if the
// notification is still valid afterwards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "sandbox/descriptors.h"
#include "sandbox/notify.h"

namespace factionos::session {

// Whether the call waits for an answer. Of one that has gone on what is seen may be another's, so it decides
// nothing.
enum class Waits : std::uint8_t { kYes, kNo };

// As a caller gave it.
struct SocketAddress {
  sockaddr_storage bytes{};
  std::size_t size = 0;

  // Of a socket of the unix family whose name is a path.
  [[nodiscard]] std::optional<std::string> path() const;
  // Of either family of the internet.
  [[nodiscard]] std::optional<std::uint16_t> port() const;
};

class Caller {
 public:
  // Borrowed for the life of this.
  Caller(const sandbox::NotifyListener& listener, const sandbox::Notification& call,
         Waits waits = Waits::kYes)
      : listener_(listener), call_(call), waits_(waits) {}

  [[nodiscard]] const sandbox::Notification& call() const { return call_; }
  [[nodiscard]] int number(unsigned argument) const { return static_cast<int>(call_.arguments[argument]); }
  [[nodiscard]] bool isValid() const { return waits_ == Waits::kNo || listener_.isValid(call_.id); }

  // Of a pointer. 0, or an errno as the kernel would give it; EACCES if this process is not to be looked at.
  int path(unsigned argument, std::string& text) const;
  int bytes(unsigned argument, std::span<std::byte> bytes) const;
  int address(unsigned argument, unsigned size, SocketAddress& address) const;

  // What a relative path begins at: AT_FDCWD, or a descriptor of it, as a directory (O_PATH). 0 or an errno.
  int start(int directory, sandbox::Fd& start) const;
  // Any descriptor of it, O_PATH.
  int file(int descriptor, sandbox::Fd& file) const;
  // A socket of it, for use.
  int socket(int descriptor, sandbox::Fd& socket) const;

  // The thread's group; 0 if it can't be read.
  [[nodiscard]] pid_t process() const;
  [[nodiscard]] pid_t thread() const { return call_.thread; }
  // How large a file it may make, in bytes: its RLIMIT_FSIZE. The largest number if it can't be read.
  [[nodiscard]] std::uint64_t largestFile() const;

 private:
  int open(const std::string& path, int flags, sandbox::Fd& file) const;

  const sandbox::NotifyListener& listener_;
  const sandbox::Notification& call_;
  Waits waits_;
};

// The creation masks of a session's processes. A process has its parent's until it calls umask, of which the
// gofer hears; so all have the first one while nobody has called it. Later /proc tells, and is believed for a
// moment: a number is not given to another process within it.
class Masks {
 public:
  explicit Masks(mode_t first) : first_(first) {}

  void changed();
  // Of the caller.
  [[nodiscard]] mode_t of(const Caller& caller);

 private:
  struct Known {
    pid_t thread = 0;
    mode_t mask = 0;
    std::int64_t until = 0;
  };

  mode_t first_;
  bool changed_ = false;
  std::int64_t settled_ = 0;  // nothing is remembered before: who shares a mask may be about to change it
  std::array<Known, 16> known_ = {};  // by the thread's number
};

}  // namespace factionos::session
