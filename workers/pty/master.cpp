#include "workers/pty/master.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <kj/debug.h>

namespace factionos::pty {
namespace {

// How long a program that does not read may make its typist wait.
constexpr auto kInputPatience = 5 * kj::SECONDS;
// A terminal gives no dependable edge when its other side has room again, so room is asked for.
constexpr auto kRoomInterval = 10 * kj::MILLISECONDS;

}  // namespace

Master::Master(rpc::Loop& loop, rpc::OwnFd fd) : loop_(loop), fd_(kj::mv(fd)) {
  termios modes{};
  KJ_REQUIRE(tcgetattr(fd_.get(), &modes) == 0, "not a terminal");
  const int flags = fcntl(fd_.get(), F_GETFL);
  KJ_REQUIRE(flags >= 0 && fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) == 0, "not usable");
}

// A terminal gives at most a page a read, so what there is takes several.
kj::ArrayPtr<const kj::byte> Master::readNow() {
  std::size_t have = 0;
  while (!ended_ && have < buffer_.size()) {
    const ssize_t got = ::read(fd_.get(), buffer_.begin() + have, buffer_.size() - have);
    if (got > 0) {
      have += static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    // EIO: no process has the other side open any more, and everything was read.
    if (got == 0 || errno != EAGAIN) ended_ = true;
    break;
  }
  return buffer_.slice(0, have);
}

kj::Promise<kj::ArrayPtr<const kj::byte>> Master::read() {
  const auto bytes = readNow();
  if (bytes.size() > 0 || ended_) return bytes;
  return loop_.waitReadable(fd_.get()).then([this]() { return read(); });
}

kj::Promise<InputOutcome> Master::write(kj::Array<kj::byte> data) {
  if (ended_) return InputOutcome{InputEnd::kEnded, 0};
  if (data.size() > kInputBytes) return InputOutcome{InputEnd::kTooLarge, 0};
  termios modes{};
  if (tcgetattr(fd_.get(), &modes) != 0) return InputOutcome{InputEnd::kEnded, 0};
  const std::string_view text(data.asChars().begin(), data.size());
  if (!meter_.fits(text, modes)) return InputOutcome{InputEnd::kLineTooLong, 0};
  return writeFrom(kj::mv(data), 0, loop_.timer().now() + kInputPatience);
}

kj::Promise<InputOutcome> Master::writeFrom(kj::Array<kj::byte> data, std::size_t done,
                                            kj::TimePoint deadline) {
  while (done < data.size()) {
    if (ended_) return InputOutcome{InputEnd::kEnded, done};
    termios modes{};
    if (tcgetattr(fd_.get(), &modes) != 0) return InputOutcome{InputEnd::kEnded, done};
    const ssize_t put = ::write(fd_.get(), data.begin() + done, data.size() - done);
    if (put > 0) {
      meter_.note({data.asChars().begin() + done, static_cast<std::size_t>(put)}, modes);
      done += static_cast<std::size_t>(put);
      continue;
    }
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno != EAGAIN) return InputOutcome{InputEnd::kEnded, done};
    if (loop_.timer().now() >= deadline) return InputOutcome{InputEnd::kFull, done};
    return loop_.timer()
        .afterDelay(kRoomInterval)
        .then([this, data = kj::mv(data), done, deadline]() mutable {
          return writeFrom(kj::mv(data), done, deadline);
        });
  }
  return InputOutcome{InputEnd::kTaken, done};
}

ResizeEnd Master::resize(std::uint16_t columns, std::uint16_t rows) {
  if (columns < 1 || columns > kLargestWindow || rows < 1 || rows > kLargestWindow)
    return ResizeEnd::kInvalid;
  if (ended_) return ResizeEnd::kEnded;
  winsize window{};
  window.ws_col = columns;
  window.ws_row = rows;
  return ioctl(fd_.get(), TIOCSWINSZ, &window) == 0 ? ResizeEnd::kDone : ResizeEnd::kEnded;
}

void Master::close() {
  ended_ = true;
  fd_ = nullptr;
}

}  // namespace factionos::pty
