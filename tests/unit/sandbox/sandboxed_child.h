// Runs a piece of a test in a forked child that is nobody: never root, one thread, its events on
// descriptor 4.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "sandbox/enter.h"
#include "sandbox/events.h"
#include "sandbox/seccomp.h"
#include "tests/absent.h"

namespace factionos::sandbox::testing {

// What the child noted down for its parent, in memory that both see: it needs no system call.
struct Notes {
  std::array<std::int64_t, 32> numbers;
};

struct Outcome {
  int exitStatus = -1;  // -1 if a signal ended it
  int signal = 0;
  std::vector<Event> events;  // well-formed records, in order
  Notes notes{};

  [[nodiscard]] bool trappedBy(int call) const;
};

// Runs `body` in a child: as an ordinary user (a fresh uid if the test runs as root), dumpable, with an event
// pipe on 4 and no descriptor but 0 to 2 and 4. The child ends with what `body` returns. A SetupError that
// leaves `body` becomes an event and the exit status kSetupFailed; any other exception kOtherException.
Outcome inChild(const std::function<int(Notes&)>& body);
inline constexpr int kSetupFailed = 101;
inline constexpr int kOtherException = 102;

// The step, errno and reason of the SetupError that `body` must throw; the step is 0 if it threw none.
struct Failure {
  unsigned step = 0;
  int error = 0;
  std::string reason;
};
Failure failureOf(const std::function<void()>& body);

// A worker's shape: allow-list, traps, no files.
Policy workerPolicy();
// A command's shape: deny-list with errno, files unrestricted but for what a test adds.
Policy commandPolicy();

// A command's shape that reaches what `rules` list and nothing else.
Policy filePolicy(std::vector<FileRule> rules);

// 0, or the errno that the call failed with.
int openErrno(const std::string& path, int flags);
int result(int returned);  // of a call that answers 0 or -1, right after it

// Loads a filter of the test's own below the one under test, to stand for a kernel that lacks something.
void pretend(std::initializer_list<SeccompRule> rules);

// Answers the question for Landlock's ABI as an older kernel would, in a process of its own that lives as
// long as somebody may ask. Everything else goes to the real kernel, which honours the lesser rights that the
// answer leads to.
void pretendAbi(int abi);
inline constexpr const char* kOldKernel = "old-kernel";  // that process's name

// An ordinary user, in a process that the test has forked: a fresh uid if the test runs as root.
void becomeOrdinary();

// Denial tests have nothing to say in a sanitizer build, whose run-time makes calls of its own.
#ifdef FACTIONOS_SANITIZED
#define SKIP_IF_SANITIZED() GTEST_SKIP() << "sanitizer builds make calls of their own; the plain build tells"
#else
#define SKIP_IF_SANITIZED() static_cast<void>(0)
#endif

}  // namespace factionos::sandbox::testing
