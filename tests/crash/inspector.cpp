#include "tests/crash/inspector.h"

#include <array>
#include <filesystem>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

namespace factionos::test {
namespace {

int line = -1;

std::size_t descriptorsOf(pid_t process) {
  std::size_t count = 0;
  std::error_code error;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator each("/proc/" + std::to_string(process) + "/fd", error);
       !error && each != end; each.increment(error))
    ++count;
  return count;
}

}  // namespace

void Inspector::startIfRoot() {
  std::array<int, 2> ends{};
  if (::geteuid() != 0 || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  if (::fork() == 0) {
    ::close(ends[0]);
    pid_t asked = 0;
    while (::read(ends[1], &asked, sizeof asked) == sizeof asked) {
      const auto count = descriptorsOf(asked);
      if (::write(ends[1], &count, sizeof count) != sizeof count) break;
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  line = ends[0];
}

std::optional<std::size_t> Inspector::count(pid_t process) {
  std::size_t count = 0;
  if (line < 0 || ::write(line, &process, sizeof process) != sizeof process ||
      ::read(line, &count, sizeof count) != sizeof count)
    return std::nullopt;
  return count;
}

}  // namespace factionos::test
