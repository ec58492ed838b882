// How much of an unfinished line the kernel's line discipline already holds. Pure.
//
// In canonical mode the kernel keeps at most 4,095 bytes of a line and drops what comes beyond, the newline
// included (N_TTY_BUF_SIZE in drivers/tty/n_tty.c), without a word to the writer. So such a line must not be
// written at all.
#pragma once

#include <cstddef>
#include <string_view>

#include <termios.h>

namespace factionos::pty {

inline constexpr std::size_t kLongestLine = 4095;  // before its newline

class LineMeter {
 public:
  // Whether all of `data`, typed after what was noted before, keeps every line within kLongestLine. Always
  // true without canonical mode. Characters that erase count as if they added: who types so much gets a
  // refusal, never a loss.
  [[nodiscard]] bool fits(std::string_view data, const termios& modes) const;

  // That `data` has been written.
  void note(std::string_view data, const termios& modes);

 private:
  std::size_t pending_ = 0;
};

}  // namespace factionos::pty
