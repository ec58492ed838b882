// Killing a whole tree of processes, setsid children and double forks included, from a keeper process.
#pragma once

#include <chrono>
#include <optional>

#include <sys/types.h>

#include "sandbox/descriptors.h"

namespace factionos::sandbox {

// A process outside of the sandbox to be, that we may signal now. Taken before Landlock is entered: it is the
// control of the proof below. Holds a pidfd, so a reused pid cannot stand in for it.
class OutsideWitness {
 public:
  // Nothing if `outside` is not there, is this process, or may not be signalled.
  static std::optional<OutsideWitness> take(pid_t outside);
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }

 private:
  explicit OutsideWitness(Fd pidfd) : pidfd_(std::move(pidfd)) {}
  Fd pidfd_;
};

// Proof that this process is inside a Landlock signal scope that the witness is outside of: what could be
// signalled before now gives EPERM. There is no other way to get one, and killDomain() takes nothing else: an
// unscoped kill(-1, SIGKILL) would end the whole login of the user.
class ProvenScope {
 public:
  static std::optional<ProvenScope> prove(const OutsideWitness& witness);
  [[nodiscard]] pid_t provenBy() const noexcept { return provenBy_; }

 private:
  explicit ProvenScope(pid_t provenBy) : provenBy_(provenBy) {}
  pid_t provenBy_;
};

enum class TreeEnd {
  kEmpty,     // nothing is left, and all children are reaped
  kDeadline,  // something is left
};

// Makes orphans of this process's descendants its own children. Needed by both functions below. Throws
// SetupError.
void becomeSubreaper();

// kill(-1, SIGKILL) within the proven scope, then reaps, again and again until there is no child. Everything
// in the scope dies but the caller. Only for a subreaper, or the init of a pid namespace, does "no child"
// mean that nobody is left: orphans of another's would go elsewhere. Throws SetupError at Step::kTree if
// called by another process than the one that proved. Needs no call but kill, wait4, getpid, clock_gettime
// and nanosleep.
TreeEnd killDomain(const ProvenScope& scope, std::chrono::milliseconds deadline);

// For Landlock below ABI 6: kills the direct children, adopts what they leave, until there is none. Only
// children are signalled, which stay ours until reaped, so no reused pid is hit. Needs /proc. A tree that
// forks faster than it is killed may outlast the deadline: use a pid namespace or the scope where there is
// one.
TreeEnd killAdopted(std::chrono::milliseconds deadline);

}  // namespace factionos::sandbox
