#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include <termios.h>

namespace factionos::cli {

struct WindowSize {
  std::uint16_t cols = 80;
  std::uint16_t rows = 24;
};

// Of the terminal on standard output, or 80 × 24.
WindowSize windowSize();

// Hands what is typed, Ctrl-C and changes of the window to a session for as long as it lives. Keys reach the
// session as they are typed; the session's own terminal echoes them, so echo is off meanwhile and comes back
// at the end.
class TerminalRelay {
 public:
  struct Sinks {
    std::function<void(std::string)> input;
    std::function<void(WindowSize)> resize;
    std::function<void()> kill;  // the second Ctrl-C within two seconds
  };
  explicit TerminalRelay(Sinks sinks);
  ~TerminalRelay();
  TerminalRelay(const TerminalRelay&) = delete;
  TerminalRelay& operator=(const TerminalRelay&) = delete;

 private:
  void relay();
  Sinks sinks_;
  bool changed_ = false;
  termios saved_{};
  int wake_ = -1;     // ends the thread
  int signals_ = -1;  // SIGINT and SIGWINCH
  std::thread thread_;
};

}  // namespace factionos::cli
