// Puts profiles to the proof.
//
// An act counts as refused by a layer if three things were seen:
//   1. a control comes to pass without the sandbox, so the world and the kernel make the act possible;
//   2. with the one layer alone it does not, and is refused in the way of that layer: a filter by SIGSYS or
//   by an errno
//      that the kernel itself never gives, the others by the errnos that are theirs;
//   3. in the whole profile, entered as workers enter it, it does not come to pass.
// And under the same whole profile an act that is allowed comes to pass. What came to pass is asked of the
// world: the file, whoever listens, the process that lives, the memory that was read.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/support.h"
#include "sandbox/verify/guarantee.h"
#include "sandbox/verify/stage.h"
#include "sandbox/verify/subject.h"

namespace factionos::sandbox::verify {

enum class Verdict { kEnforced, kNotEnforced, kInconclusive };
std::string_view label(Verdict verdict);

// One act against one guarantee.
struct Probe {
  const Act* act = nullptr;
  Verdict verdict = Verdict::kInconclusive;
  std::string cause;           // empty if enforced
  bool refusedAround = false;  // to everybody here, by a filter that is not ours
  Seen control;
  Seen alone;
  Seen whole;
};

struct Finding {
  const Guarantee* guarantee = nullptr;
  Verdict verdict = Verdict::kInconclusive;
  bool counts = false;  // towards the exit status: required, or its feature is here, or it was asked for
  std::string cause;    // of the first probe that is not enforced, or why there is none
  std::string seen;     // what the whole profile answered: "EACCES, SIGSYS (openat)"
  std::vector<Probe> probes;
};

// Whether somebody else's seccomp filter holds this process already, as a container's does.
enum class Around { kOpen, kFiltered };

// What this kernel and this caller have.
struct Facts {
  std::string kernel;  // "Linux 6.12.3 x86_64"
  KernelSupport support;
  bool foreign32 = false;
  bool gainable = false;  // the caller is without no_new_privs
  bool cores = false;     // the caller may leave core files
  Around around = Around::kOpen;
  [[nodiscard]] bool has(Feature feature) const;
  // The first that is missing of what a guarantee needs; kNone if it has all.
  [[nodiscard]] Feature missing(const Guarantee& guarantee) const;
};
Facts gatherFacts();

struct Order {
  std::span<const Subject> subjects;
  std::span<const Guarantee> guarantees;
  std::string profile;                // a name or a role; empty: all
  std::vector<std::string> required;  // "id" or "profile/id": these count, whatever the kernel lacks
};

struct Report {
  Facts facts;
  std::vector<Finding> findings;  // in the order of the guarantees
  std::size_t tries = 0;          // processes' acts in all: controls, layers alone, whole profiles
  double seconds = 0;

  [[nodiscard]] std::size_t probes() const;
  [[nodiscard]] std::size_t count(Verdict verdict) const;
  // Of one profile, in the same order; borrowed.
  [[nodiscard]] std::vector<const Finding*> findingsOf(std::string_view profile) const;
  [[nodiscard]] bool passed() const;  // all that count are enforced, and there is one
};

// Forks; the caller has one thread and is not root. Throws std::system_error if the world for the probes
// can't be made.
Report verify(const Order& order);

}  // namespace factionos::sandbox::verify
