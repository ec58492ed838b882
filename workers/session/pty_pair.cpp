#include "workers/session/pty_pair.h"

#include <array>
#include <cstdlib>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace factionos::session {
namespace {

constexpr std::string_view kUnavailable = "pty_unavailable";

bool isValid(WindowSize size) {
  return size.columns >= 1 && size.columns <= kLargestWindow && size.rows >= 1 && size.rows <= kLargestWindow;
}

// What a terminal emulator of today sets, whatever the kernel's defaults: UTF-8 aware line editing.
bool setUp(int slave, WindowSize size) {
  termios modes{};
  if (tcgetattr(slave, &modes) != 0) return false;
  modes.c_iflag |= IUTF8;
  winsize window{};
  window.ws_col = size.columns;
  window.ws_row = size.rows;
  return tcsetattr(slave, TCSANOW, &modes) == 0 && ioctl(slave, TIOCSWINSZ, &window) == 0;
}

}  // namespace

std::variant<PtyPair, Denied> openPtyPair(WindowSize size) {
  if (!isValid(size)) return Denied{"window_invalid", "window_1_to_1000"};
  PtyPair pair;
  pair.master.reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pair.master) return Denied{kUnavailable, "open_master"};
  if (unlockpt(pair.master.get()) != 0) return Denied{kUnavailable, "unlock"};
  std::array<char, 64> name{};
  if (ptsname_r(pair.master.get(), name.data(), name.size()) != 0) return Denied{kUnavailable, "name"};
  pair.slavePath = name.data();
  // By the master itself: no path is trusted, and a devpts that is mounted elsewhere does no harm.
  pair.slave.reset(ioctl(pair.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pair.slave) return Denied{kUnavailable, "open_slave"};
  if (!setUp(pair.slave.get(), size)) return Denied{kUnavailable, "modes"};
  return pair;
}

}  // namespace factionos::session
