#pragma once

#include <cstddef>
#include <optional>

#include <sys/types.h>

namespace factionos::test {

// Counts descriptors of processes that are not dumpable, which only root may: a process that is forked by a
// test program of root before that becomes an ordinary user.
class Inspector {
 public:
  // To be called first in main(). Without root there is none, and count() has no answer.
  static void startIfRoot();
  static std::optional<std::size_t> count(pid_t process);
};

}  // namespace factionos::test
