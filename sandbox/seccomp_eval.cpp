#include "sandbox/seccomp_eval.h"

#include <algorithm>
#include <cstring>

#include <linux/audit.h>
#include <unistd.h>

namespace factionos::sandbox {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kNativeArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kNativeArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "not an architecture that the filters were written for"
#endif

bool jumpTaken(const sock_filter& step, std::uint32_t accumulator) {
  switch (BPF_OP(step.code)) {
    case BPF_JEQ:
      return accumulator == step.k;
    case BPF_JGT:
      return accumulator > step.k;
    case BPF_JGE:
      return accumulator >= step.k;
    default:
      return (accumulator & step.k) != 0;  // BPF_JSET
  }
}

bool knownJump(std::uint16_t code) {
  return BPF_SRC(code) == BPF_K && (BPF_OP(code) == BPF_JEQ || BPF_OP(code) == BPF_JGT ||
                                    BPF_OP(code) == BPF_JGE || BPF_OP(code) == BPF_JSET);
}

constexpr std::uint32_t kX32Bit = 0x40000000;

bool isForeign(const seccomp_data& data) {
  if (data.arch != kNativeArchitecture) return true;
  return kNativeArchitecture == AUDIT_ARCH_X86_64 && (static_cast<std::uint32_t>(data.nr) & kX32Bit) != 0 &&
         data.nr != -1;
}

bool passes(const ArgumentTest& test, const seccomp_data& data) {
  const std::uint64_t value = data.args[test.argument];
  if (test.compare == ArgumentTest::Compare::kOwnProcess) return static_cast<pid_t>(value) == getpid();
  return (value & test.mask) == (test.value & test.mask);
}

bool matches(const Call& call, const seccomp_data& data) {
  return call.number == data.nr &&
         std::all_of(call.tests.begin(), call.tests.end(),
                     [&data](const ArgumentTest& test) { return passes(test, data); });
}

}  // namespace

Ruling rulingOf(const SeccompPolicy& policy, const seccomp_data& data) {
  if (isForeign(data)) return {policy.foreignEntry, nullptr};
  for (const SeccompRule& rule : policy.rules) {
    const auto& calls = rule.family.calls;
    if (std::any_of(calls.begin(), calls.end(), [&data](const Call& call) { return matches(call, data); }))
      return {rule.verdict, &rule};
  }
  return {policy.unlisted, nullptr};
}

std::optional<std::uint32_t> evaluate(const Program& program, const seccomp_data& data) {
  std::uint32_t accumulator = 0;
  // Jumps only go forward, so this ends.
  for (std::size_t at = 0; at < program.instructions.size(); ++at) {
    const sock_filter& step = program.instructions[at];
    if (step.code == (BPF_LD | BPF_W | BPF_ABS)) {
      if (step.k % 4 != 0 || step.k > sizeof data - 4) return std::nullopt;
      std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k, 4);
    } else if (step.code == (BPF_ALU | BPF_AND | BPF_K)) {
      accumulator &= step.k;
    } else if (step.code == (BPF_JMP | BPF_JA)) {
      at += step.k;
    } else if (BPF_CLASS(step.code) == BPF_JMP && knownJump(step.code)) {
      at += jumpTaken(step, accumulator) ? step.jt : step.jf;
    } else if (step.code == (BPF_RET | BPF_K)) {
      return step.k;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

seccomp_data callData(int number, std::initializer_list<std::uint64_t> arguments) {
  seccomp_data data{};
  data.nr = number;
  data.arch = kNativeArchitecture;
  std::copy_n(arguments.begin(), std::min<std::size_t>(arguments.size(), 6), data.args);
  return data;
}

std::optional<Verdict> verdictOf(std::uint32_t value) {
  switch (value & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
      return Verdict::allow();
    case SECCOMP_RET_ERRNO:
      return Verdict::fail(static_cast<int>(value & SECCOMP_RET_DATA));
    case SECCOMP_RET_TRAP:
      return Verdict::trap();
    case SECCOMP_RET_KILL_PROCESS:
      return Verdict::killProcess();
    case SECCOMP_RET_USER_NOTIF:
      return Verdict::notify();
    default:
      return std::nullopt;
  }
}

}  // namespace factionos::sandbox
