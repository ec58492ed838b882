// One program, started with one question, and everything that it started gone again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <sys/types.h>

#include <kj/async.h>

#include "protocol/rpc/loop.h"
#include "sandbox/descriptors.h"
#include "sandbox/tree.h"

namespace factionos::probe {

inline constexpr std::size_t kMostPrinted = 64 * 1024;

struct Heard {
  enum class End {
    kExited,      // by itself, with `status`
    kSignalled,   // by a signal that it did not get here
    kTooMuch,     // it had printed more than kMostPrinted, and was killed
    kLate,        // it had not ended by the deadline, and was killed
    kNotStarted,  // the kernel would not start it, or the walls did not stand
  };
  End end = End::kNotStarted;
  int status = 0;       // 0 to 255
  std::string printed;  // to its standard output
};

// Starts the program on worker::kScope, one at a time. This process has entered its profile, is a subreaper
// and has no other child.
class Asking {
 public:
  // `scope`: where it is proven, everything in it can be killed at once; else the tree is walked.
  Asking(rpc::Loop& loop, std::optional<sandbox::ProvenScope> scope) : loop_(loop), scope_(scope) {}
  ~Asking() noexcept(false) { killAll(); }
  KJ_DISALLOW_COPY(Asking);

  // Does not fail. Nothing that it started is left once this resolves, or once this object is gone.
  kj::Promise<Heard> ask(kj::Duration deadline);

 private:
  enum class Event { kEnded, kTooMuch, kLate };
  struct Started {
    pid_t pid = -1;
    sandbox::Fd process;  // its pidfd
    sandbox::Fd printed;  // non-blocking
    sandbox::Fd failure;  // one byte, if it was never executed
  };

  Started start() const;
  kj::Promise<void> listen(Started& started, Heard& heard);
  Heard end(Started& started, Heard heard, Event event) const;
  void killAll() const;

  rpc::Loop& loop_;
  std::optional<sandbox::ProvenScope> scope_;
};

}  // namespace factionos::probe
