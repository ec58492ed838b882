// What no worker may do: each act is one system call, tried by a worker that was taken over.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace factionos::hostile {

struct Target {
  pid_t process = 0;  // of ours, outside of the sandbox
  std::string path;   // a file of the broker's home
};

// The clauses of SPEC 1.3 that a system call could break, and that no file is left by which others have the
// rights of this user: whoever makes files has these calls, and no filter but one that judges the mode.
enum class Rule { kState, kMemory, kSignals, kPrograms, kSockets, kSandbox, kModes };

struct Act {
  Rule rule;
  const char* name;
  int call;  // its number
  enum class End {
    kTrapped,  // the filter's handler tells the number, then the process ends
    kKilled,   // at once, without a word
  } end;
  enum class Control {
    kComesBack,  // outside of the sandbox the act returns to its caller, whatever it returns
    kSucceeds,   // … and works, for the same user
    kNone,       // outside it would end, replace or change the tester
  } control;
  long (*run)(const Target& target);
};

std::span<const Act> acts();
const Act* findAct(std::string_view name);

// Of a worker whose filter has the act's call, for its own files: Landlock refused it. The one listing is of
// no directory, so that nobody need refuse it.
bool isRefusedByLandlock(const Act& act, long result, int error);

}  // namespace factionos::hostile

// A filter that lets a sanitizer's run-time open files and map memory lets these acts do so, too.
#ifdef FACTIONOS_SANITIZED
#define SKIP_ACTS_IF_SANITIZED() \
  GTEST_SKIP() << "a sanitizer's run-time makes calls of its own; the plain build tells"
#else
#define SKIP_ACTS_IF_SANITIZED() static_cast<void>(0)
#endif
