#include "sandbox/seccomp.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/library_opens.h"
#include "sandbox/programs.h"
#include "sandbox/seccomp_eval.h"
#include "sandbox/setup_error.h"
#include "sandbox/syscalls.h"

namespace factionos::sandbox {
namespace {

using Compare = ArgumentTest::Compare;
using Context = std::unique_ptr<void, decltype(&seccomp_release)>;

constexpr int kHighestErrno = 4095;
constexpr unsigned kArguments = 6;

struct Judged {
  std::vector<ArgumentTest> tests;
  Verdict verdict;
};

std::uint32_t actionOf(const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::kAllow:
      return SCMP_ACT_ALLOW;
    case Verdict::Kind::kTrap:
      return SCMP_ACT_TRAP;
    case Verdict::Kind::kKillProcess:
      return SCMP_ACT_KILL_PROCESS;
    case Verdict::Kind::kNotify:
      return SCMP_ACT_NOTIFY;
    case Verdict::Kind::kErrno:
      break;
  }
  if (verdict.error < 1 || verdict.error > kHighestErrno) {
    throw SetupError(Step::kSeccomp, EINVAL, "seccomp_verdict_invalid");
  }
  return SCMP_ACT_ERRNO(static_cast<std::uint32_t>(verdict.error));
}

bool disjoint(const ArgumentTest& a, const ArgumentTest& b) {
  return a.argument == b.argument && ((a.value ^ b.value) & a.mask & b.mask) != 0;
}

// Whether whatever passes `narrow` passes `wide`.
bool covers(const ArgumentTest& wide, const ArgumentTest& narrow) {
  return wide.argument == narrow.argument && (wide.mask & narrow.mask) == wide.mask &&
         (narrow.value & wide.mask) == (wide.value & wide.mask);
}

bool disjoint(const Judged& a, const Judged& b) {
  return std::any_of(a.tests.begin(), a.tests.end(), [&b](const ArgumentTest& one) {
    return std::any_of(b.tests.begin(), b.tests.end(),
                       [&one](const ArgumentTest& other) { return disjoint(one, other); });
  });
}

bool covers(const Judged& wide, const Judged& narrow) {
  return std::all_of(wide.tests.begin(), wide.tests.end(), [&narrow](const ArgumentTest& one) {
    return std::any_of(narrow.tests.begin(), narrow.tests.end(),
                       [&one](const ArgumentTest& other) { return covers(one, other); });
  });
}

// The rules of one call, put so that their order no longer matters, for libseccomp knows none: what an
// earlier rule covers is dropped; rules of unlike verdict must exclude each other; a rule that decides as
// `unlisted` does is implied.
std::vector<Judged> settle(const std::vector<Judged>& ordered, const Verdict& unlisted) {
  std::vector<Judged> kept;
  for (const Judged& rule : ordered) {
    if (std::any_of(kept.begin(), kept.end(),
                    [&rule](const Judged& earlier) { return covers(earlier, rule); })) {
      continue;
    }
    for (const Judged& earlier : kept) {
      if (earlier.verdict != rule.verdict && !disjoint(earlier, rule)) {
        throw SetupError(Step::kSeccomp, EINVAL, "seccomp_rules_overlap");
      }
    }
    kept.push_back(rule);
  }
  const auto whole =
      std::find_if(kept.begin(), kept.end(), [](const Judged& rule) { return rule.tests.empty(); });
  if (whole != kept.end())
    kept = {*whole};  // what came before it has the same verdict, or would have overlapped
  std::erase_if(kept, [&unlisted](const Judged& rule) { return rule.verdict == unlisted; });
  return kept;
}

std::vector<ArgumentTest> resolved(const std::vector<ArgumentTest>& tests, std::uint32_t ownProcess) {
  std::vector<ArgumentTest> result;
  unsigned seen = 0;
  for (const ArgumentTest& test : tests) {
    if (test.argument >= kArguments || (seen & (1U << test.argument)) != 0) {
      throw SetupError(Step::kSeccomp, EINVAL, "seccomp_rule_refused");
    }
    seen |= 1U << test.argument;
    const bool own = test.compare == Compare::kOwnProcess;
    result.push_back(own ? is32(test.argument, ownProcess) : test);
  }
  return result;
}

void addRule(const Context& context, int number, const Judged& rule) {
  std::vector<scmp_arg_cmp> comparisons;
  for (const ArgumentTest& test : rule.tests) {
    comparisons.push_back({test.argument, SCMP_CMP_MASKED_EQ, test.mask, test.value & test.mask});
  }
  const int result = seccomp_rule_add_array(context.get(), actionOf(rule.verdict), number,
                                            static_cast<unsigned>(comparisons.size()), comparisons.data());
  if (result != 0) throw SetupError(Step::kSeccomp, -result, "seccomp_rule_refused");
}

Program exported(const Context& context) {
  const Fd memory(checked(Step::kSeccomp, memfd_create("program", MFD_CLOEXEC), "seccomp_compile"));
  const int result = seccomp_export_bpf(context.get(), memory.get());
  if (result != 0) throw SetupError(Step::kSeccomp, -result, "seccomp_compile");
  const off_t size = checked(Step::kSeccomp, lseek(memory.get(), 0, SEEK_END), "seccomp_compile");
  Program program;
  program.instructions.resize(static_cast<std::size_t>(size) / sizeof(sock_filter));
  const ssize_t got = pread(memory.get(), program.instructions.data(), static_cast<std::size_t>(size), 0);
  if (got != size || program.instructions.empty() || program.instructions.size() > BPF_MAXINSNS) {
    throw SetupError(Step::kSeccomp, E2BIG, "seccomp_compile");
  }
  return program;
}

void setAttribute(const Context& context, scmp_filter_attr attribute, std::uint32_t value) {
  const int result = seccomp_attr_set(context.get(), attribute, value);
  if (result != 0) throw SetupError(Step::kSeccomp, -result, "seccomp_compile");
}

}  // namespace

SeccompRule allow(Family family, std::string_view reason) {
  return {std::move(family), Verdict::allow(), reason};
}
SeccompRule refuse(Family family, int error, std::string_view reason) {
  return {std::move(family), Verdict::fail(error), reason};
}
SeccompRule kill(Family family, std::string_view reason) {
  return {std::move(family), Verdict::killProcess(), reason};
}
SeccompRule trap(Family family, std::string_view reason) {
  return {std::move(family), Verdict::trap(), reason};
}
SeccompRule notify(Family family, std::string_view reason) {
  return {std::move(family), Verdict::notify(), reason};
}

std::vector<ArgumentTest> rangeBlocks(unsigned argument, std::uint64_t first, std::uint64_t last,
                                      unsigned bits) {
  const std::uint64_t all = bits >= 64 ? ~0ULL : (1ULL << bits) - 1;
  std::vector<ArgumentTest> blocks;
  while (true) {
    // The widest block that starts at `first`, is aligned to its own size, and does not go beyond `last`.
    std::uint64_t block = 1;
    while (block <= all / 2 && first % (block * 2) == 0 && block * 2 - 1 <= last - first) block *= 2;
    blocks.push_back(masked(argument, all & ~(block - 1), first));
    if (last - first < block) return blocks;
    first += block;
  }
}

Program compile(const SeccompPolicy& policy) {
  const auto own = static_cast<std::uint32_t>(getpid());
  const BuiltProgram* built = findBuiltProgram(policy);
  const Program program = built != nullptr ? programOf(*built, own) : compileFor(policy, own);
  if (policy.unheardOpens.empty()) return program;
  if (rulingOf(policy, libraryOpen()).verdict != Verdict::notify())
    throw SetupError(Step::kSeccomp, EINVAL, "seccomp_verdict_invalid");
  return withoutOpens(program, policy.unheardOpens);
}

Program compileFor(const SeccompPolicy& policy, std::uint32_t ownProcess) {
  std::map<int, std::vector<Judged>> ordered;
  for (const SeccompRule& rule : policy.rules) {
    for (const Call& call : rule.family.calls) {
      if (call.number < 0) continue;  // this architecture has no such call
      ordered[call.number].push_back({resolved(call.tests, ownProcess), rule.verdict});
    }
  }
  const Context context(seccomp_init(actionOf(policy.unlisted)), &seccomp_release);
  if (!context) throw SetupError(Step::kSeccomp, ENOMEM, "seccomp_compile");
  setAttribute(context, SCMP_FLTATR_ACT_BADARCH, actionOf(policy.foreignEntry));
  setAttribute(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a binary tree over the numbers
  for (const auto& [number, rules] : ordered) {
    for (const Judged& rule : settle(rules, policy.unlisted)) addRule(context, number, rule);
  }
  return exported(context);
}

static_assert((kListenerFlags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0);

int loadProgram(const Program& program, Listener listener) {
  // The kernel only reads it; its structure has no const.
  const sock_fprog loaded{static_cast<unsigned short>(program.instructions.size()),
                          const_cast<sock_filter*>(program.instructions.data())};
  const unsigned long flags = listener == Listener::kWanted ? kListenerFlags : 0;
  const long result = checked(Step::kSeccomp, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &loaded),
                              "seccomp_refused");
  return listener == Listener::kWanted ? static_cast<int>(result) : -1;
}

std::string callName(int number) {
  const auto* newer = std::find_if(calls::kNewer.begin(), calls::kNewer.end(),
                                   [number](const calls::Named& call) { return call.number == number; });
  if (newer != calls::kNewer.end()) return std::string(newer->name);
  const std::unique_ptr<char, decltype(&std::free)> name(
      number < 0 ? nullptr : seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), &std::free);
  return name ? std::string(name.get()) : "unknown";
}

}  // namespace factionos::sandbox
