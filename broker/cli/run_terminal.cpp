#include "broker/cli/run_terminal.h"

#include <array>
#include <chrono>
#include <csignal>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace factionos::cli {
namespace {

constexpr char kInterrupt = '\x03';
constexpr char kEndOfFile = '\x04';

bool utf8Continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

// How many bytes of a character are still to come at the end of `text`.
std::size_t incompleteTail(const std::string& text) {
  std::size_t back = 0;
  while (back < 3 && back < text.size() && utf8Continues(text[text.size() - 1 - back])) ++back;
  if (back == text.size()) return 0;
  const auto lead = static_cast<unsigned char>(text[text.size() - 1 - back]);
  const std::size_t wanted = lead >= 0xf0U ? 3 : lead >= 0xe0U ? 2 : lead >= 0xc0U ? 1 : 0;
  return wanted > back ? back + 1 : 0;
}

}  // namespace

WindowSize windowSize() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.cols = std::min<std::uint16_t>(size.ws_col, 1000),
          .rows = std::min<std::uint16_t>(size.ws_row, 1000)};
}

TerminalRelay::TerminalRelay(Sinks sinks) : sinks_(std::move(sinks)) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGWINCH);
  // Before the thread exists, so that it inherits the mask.
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &saved_) == 0) {
    auto changed = saved_;
    changed.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &changed) == 0;
  }
  thread_ = std::thread([this]() { relay(); });
}

TerminalRelay::~TerminalRelay() {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
  thread_.join();
  if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_);
  ::close(signals_);
  ::close(wake_);
}

void TerminalRelay::relay() {
  std::string typed;
  bool open = true;
  std::chrono::steady_clock::time_point interrupted{};
  for (;;) {
    std::array<pollfd, 3> ready{
        {{wake_, POLLIN, 0}, {signals_, POLLIN, 0}, {open ? STDIN_FILENO : -1, POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[0].revents != 0) return;
    signalfd_siginfo info{};
    while (ready[1].revents != 0 && ::read(signals_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGWINCH) {
        sinks_.resize(windowSize());
        continue;
      }
      const auto now = std::chrono::steady_clock::now();
      if (now - interrupted < std::chrono::seconds(2)) sinks_.kill();
      interrupted = now;
      sinks_.input(std::string(1, kInterrupt));
    }
    if (ready[2].revents == 0) continue;
    std::array<char, 4096> chunk;
    const auto size = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (size <= 0) {
      open = false;
      sinks_.input(std::string(1, kEndOfFile));
      continue;
    }
    typed.append(chunk.data(), static_cast<std::size_t>(size));
    const auto keep = incompleteTail(typed);
    sinks_.input(typed.substr(0, typed.size() - keep));
    typed.erase(0, typed.size() - keep);
  }
}

}  // namespace factionos::cli
