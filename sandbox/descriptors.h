// Descriptors: owned once, closed on exec from birth, and none left over when a sandbox is entered.
#pragma once

#include <span>
#include <utility>

#include <sys/types.h>

namespace factionos::sandbox {

// Owns one descriptor; -1 is none. Closing never throws.
class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int descriptor) noexcept : descriptor_(descriptor) {}
  Fd(Fd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.descriptor_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }
  void reset(int descriptor = -1) noexcept;

 private:
  int descriptor_ = -1;
};

// O_CLOEXEC is added to `flags`. Throws std::system_error, with fixed text and never the path.
Fd openFile(const char* path, int flags, mode_t mode = 0);

struct Pipe {
  Fd read;
  Fd write;
};
Pipe makePipe();

// Closes every descriptor of this process but those in `keep` (any order, repeats allowed, closed ones
// ignored). Uses close_range(2), so the cost does not grow with the limit. Throws SetupError at
// Step::kDescriptors.
void closeAllBut(std::span<const int> keep);

// The first open descriptor that is not in `keep`, or -1. Looks at numbers up to `last`, both ends included:
// the kernel hands out the lowest free number, so after closeAllBut() a leak of ours lies low.
int firstUnexpected(std::span<const int> keep, int last);

}  // namespace factionos::sandbox
