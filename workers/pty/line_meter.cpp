#include "workers/pty/line_meter.h"

#include <algorithm>

#include <unistd.h>

namespace factionos::pty {
namespace {

bool is(char c, const termios& modes, int which) {
  const cc_t wanted = modes.c_cc[which];
  return wanted != _POSIX_VDISABLE && static_cast<unsigned char>(c) == wanted;
}

bool endsLine(char c, const termios& modes) {
  if (c == '\n') return (modes.c_iflag & INLCR) == 0;
  if (c == '\r') return (modes.c_iflag & ICRNL) != 0 && (modes.c_iflag & IGNCR) == 0;
  return is(c, modes, VEOF) || is(c, modes, VEOL) || ((modes.c_lflag & IEXTEN) != 0 && is(c, modes, VEOL2));
}

bool dropsLine(char c, const termios& modes) {
  if (is(c, modes, VKILL)) return true;
  if ((modes.c_lflag & ISIG) == 0 || (modes.c_lflag & NOFLSH) != 0) return false;
  return is(c, modes, VINTR) || is(c, modes, VQUIT) || is(c, modes, VSUSP);
}

// Walks `data`; returns the length of the unfinished line and raises `longest` to the longest that there was.
std::size_t walk(std::string_view data, const termios& modes, std::size_t pending, std::size_t& longest) {
  for (const char c : data) {
    if (endsLine(c, modes) || dropsLine(c, modes)) {
      pending = 0;
    } else {
      longest = std::max(longest, ++pending);
    }
  }
  return pending;
}

}  // namespace

bool LineMeter::fits(std::string_view data, const termios& modes) const {
  if ((modes.c_lflag & ICANON) == 0) return true;
  std::size_t longest = 0;
  walk(data, modes, pending_, longest);
  return longest <= kLongestLine;
}

void LineMeter::note(std::string_view data, const termios& modes) {
  std::size_t longest = 0;
  pending_ = (modes.c_lflag & ICANON) == 0 ? 0 : walk(data, modes, pending_, longest);
}

}  // namespace factionos::pty
