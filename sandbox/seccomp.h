// Seccomp as values: families of calls, each with a verdict and a reason, compiled by libseccomp to one
// program.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <linux/filter.h>

namespace factionos::sandbox {

struct Verdict {
  enum class Kind : std::uint8_t {
    kAllow,
    kErrno,        // the call fails with `error`
    kTrap,         // SIGSYS, which our handler reports on descriptor 4 and then ends the process
    kKillProcess,  // SIGSYS that nothing can catch
    kNotify,       // asked of the supervisor that holds the listener
  };
  Kind kind = Kind::kKillProcess;
  int error = 0;  // 1 to 4095 with kErrno, else 0

  static constexpr Verdict allow() { return {Kind::kAllow, 0}; }
  static constexpr Verdict fail(int error) { return {Kind::kErrno, error}; }
  static constexpr Verdict trap() { return {Kind::kTrap, 0}; }
  static constexpr Verdict killProcess() { return {Kind::kKillProcess, 0}; }
  static constexpr Verdict notify() { return {Kind::kNotify, 0}; }
  friend constexpr bool operator==(const Verdict&, const Verdict&) = default;
};

// One test of one argument (0 to 5). All tests of a call must hold. There is no "less" or "greater":
// libseccomp 2.5 builds wrong programs from rules that mix them (our tests found it), so a range is written
// as masked blocks (rangeBlocks).
struct ArgumentTest {
  enum class Compare : std::uint8_t { kMaskedEqual, kOwnProcess };
  unsigned argument = 0;
  Compare compare = Compare::kMaskedEqual;
  std::uint64_t mask = ~0ULL;  // with kMaskedEqual
  std::uint64_t value = 0;
};

// The kernel takes ints from the low 32 bits alone, so what it compares as an int is compared on 32 bits
// here: else 0x1_0000_5412 would pass a test for TIOCSTI.
constexpr ArgumentTest is32(unsigned argument, std::uint32_t value) {
  return {argument, ArgumentTest::Compare::kMaskedEqual, 0xffffffffULL, value};
}
constexpr ArgumentTest masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, ArgumentTest::Compare::kMaskedEqual, mask, value};
}
constexpr ArgumentTest is64(unsigned argument, std::uint64_t value) {
  return masked(argument, ~0ULL, value);
}
// The fewest masks that together hold exactly `first` to `last`, both included, in an argument of `bits` bits
// (32 or 64; the bits above are not looked at).
std::vector<ArgumentTest> rangeBlocks(unsigned argument, std::uint64_t first, std::uint64_t last,
                                      unsigned bits);

// The argument is the pid of the process that compiles the policy. For processes that never fork. On 32 bits:
// a pid_t is an int.
constexpr ArgumentTest isOwnProcess(unsigned argument) {
  return {argument, ArgumentTest::Compare::kOwnProcess, 0, 0};
}

struct Call {
  int number = -1;  // this architecture's
  std::vector<ArgumentTest> tests = {};
};

// A named list of calls, without a verdict (families.h).
struct Family {
  std::string_view name;
  std::vector<Call> calls;
};

struct SeccompRule {
  Family family;
  Verdict verdict;
  std::string_view reason;
};

SeccompRule allow(Family family, std::string_view reason);
SeccompRule refuse(Family family, int error, std::string_view reason);
SeccompRule kill(Family family, std::string_view reason);
SeccompRule trap(Family family, std::string_view reason);
SeccompRule notify(Family family, std::string_view reason);

enum class SeccompScope {
  kNone,      // no filter of this policy's own (a relaxation: say why)
  kFiltered,  // the rules below
};

// Rules are judged in order, the first that matches a call wins, and `unlisted` judges the rest. compile()
// refuses what libseccomp could not express in exactly that meaning (rules of unlike verdict for one call
// whose tests overlap).
struct SeccompPolicy {
  SeccompScope scope = SeccompScope::kFiltered;
  Verdict unlisted = Verdict::trap();
  Verdict foreignEntry = Verdict::killProcess();  // int 0x80, x32: another architecture's numbers
  std::vector<SeccompRule> rules;
  // With a notify rule: a unix socket (kept by the policy) over which enter() hands the listener to the
  // supervisor, as one byte 'L' with the descriptor attached. Borrowed.
  int listenerTo = -1;
  // With a notify rule for opens that all go on: the places whose opens are not heard of (library_opens.h).
  std::vector<std::uint32_t> unheardOpens = {};
};

// A classic BPF program. May be evaluated in user space (seccomp_eval.h).
struct Program {
  std::vector<sock_filter> instructions;
};

// The pid that stands in a program that is built for processes yet to come; above the kernel's highest
// (2^22).
inline constexpr std::uint32_t kAnyProcess = 0x7fac7105;

// Pure but for a memfd, and quick for what was built in (programs.h). Throws SetupError at Step::kSeccomp:
// "seccomp_rule_refused", "seccomp_rules_overlap", "seccomp_verdict_invalid", "seccomp_compile".
Program compile(const SeccompPolicy& policy);

// The same by libseccomp in any case, with `ownProcess` for isOwnProcess().
Program compileFor(const SeccompPolicy& policy, std::uint32_t ownProcess);

enum class Listener { kNone, kWanted };

// With a listener: once a call has been heard of, nothing but death ends its wait (Linux 5.19, notify.h).
inline constexpr unsigned long kListenerFlags = (1UL << 3) | (1UL << 5);

// Loads it for this thread. Returns the listener's descriptor (CLOEXEC) if wanted, else -1. no_new_privs must
// stand. EBUSY: an outer filter has a listener already, and the kernel gives one alone.
int loadProgram(const Program& program, Listener listener);

// Installs the SIGSYS handler for Verdict::trap(): it writes one event record (events.h) with the call's
// number and the architecture of its entry to kEventDescriptor, and ends the process with kTrapExitStatus.
// Async-signal-safe.
void installTrapHandler();
inline constexpr int kTrapExitStatus = 128 + 31;  // what a shell says of SIGSYS

// The name that libseccomp, or our table of newer calls, knows the number by; "unknown" else.
std::string callName(int number);

}  // namespace factionos::sandbox
