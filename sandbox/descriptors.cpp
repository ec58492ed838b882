#include "sandbox/descriptors.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/setup_error.h"

namespace factionos::sandbox {
namespace {

void closeRange(unsigned first, unsigned last) {
  checked(Step::kDescriptors, syscall(SYS_close_range, first, last, 0U), "close_range_refused");
}

}  // namespace

void Fd::reset(int descriptor) noexcept {
  const int old = std::exchange(descriptor_, descriptor);
  if (old >= 0) close(old);
}

Fd openFile(const char* path, int flags, mode_t mode) {
  Fd fd(open(path, flags | O_CLOEXEC, mode));
  if (!fd) throw std::system_error(errno, std::generic_category(), "open");
  return fd;
}

Pipe makePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  return {Fd(ends[0]), Fd(ends[1])};
}

void closeAllBut(std::span<const int> keep) {
  std::vector<int> sorted(keep.begin(), keep.end());
  std::sort(sorted.begin(), sorted.end());
  unsigned next = 0;
  for (const int kept : sorted) {
    if (kept < 0) continue;
    const auto number = static_cast<unsigned>(kept);
    if (number > next) closeRange(next, number - 1);
    next = std::max(next, number + 1);
  }
  closeRange(next, ~0U);
}

int firstUnexpected(std::span<const int> keep, int last) {
  for (int number = 0; number <= last; ++number) {
    if (std::find(keep.begin(), keep.end(), number) != keep.end()) continue;
    if (fcntl(number, F_GETFD) >= 0) return number;
  }
  return -1;
}

}  // namespace factionos::sandbox
