// The compiled program is run in user space and compared with what the policy's text means: the first rule
// that matches.
#include <cerrno>
#include <random>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/seccomp.h"
#include "sandbox/seccomp_eval.h"
#include "sandbox/setup_error.h"

#ifdef FACTIONOS_SANITIZED
// libseccomp forgets a node of its tree where a rule that is added later covers one that is there; random
// policies have such rules, ours have none.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:db_rule_add\nleak:zmalloc\n";  // the latter where only the leaf of its stack is to be had
}
#endif

namespace factionos::sandbox {
namespace {

using Compare = ArgumentTest::Compare;

std::optional<Verdict> judge(const Program& program, int number,
                             std::initializer_list<std::uint64_t> arguments) {
  const auto value = evaluate(program, callData(number, arguments));
  return value ? verdictOf(*value) : std::nullopt;
}

std::string reasonOf(const SeccompPolicy& policy) {
  try {
    compile(policy);
    return "";
  } catch (const SetupError& error) {
    return std::string(error.reason());
  }
}

Family one(int number, std::vector<ArgumentTest> tests = {}) {
  return {"one", {{number, std::move(tests)}}};
}

TEST(SeccompCompile, UnlistedAndListedCalls) {
  SeccompPolicy policy;
  policy.unlisted = Verdict::trap();
  policy.rules = {allow(one(SYS_read), "r"), refuse(one(SYS_openat), EACCES, "r"),
                  kill(one(SYS_ptrace), "r")};
  const Program program = compile(policy);
  EXPECT_EQ(judge(program, SYS_read, {}), Verdict::allow());
  EXPECT_EQ(judge(program, SYS_openat, {}), Verdict::fail(EACCES));
  EXPECT_EQ(judge(program, SYS_ptrace, {}), Verdict::killProcess());
  EXPECT_EQ(judge(program, SYS_write, {}), Verdict::trap());
  EXPECT_EQ(judge(program, 4000, {}), Verdict::trap());
}

TEST(SeccompCompile, TheFirstMatchingRuleWins) {
  SeccompPolicy policy;
  policy.rules = {allow(one(SYS_read), "first"), kill(one(SYS_read), "shadowed"),
                  refuse(one(SYS_ioctl, {is32(1, 7)}), EPERM, "first"),
                  kill(one(SYS_ioctl, {is32(1, 7)}), "shadowed"),
                  allow(one(SYS_ioctl, {is32(1, 8)}), "beside")};
  const Program program = compile(policy);
  EXPECT_EQ(judge(program, SYS_read, {}), Verdict::allow());
  EXPECT_EQ(judge(program, SYS_ioctl, {0, 7}), Verdict::fail(EPERM));
  EXPECT_EQ(judge(program, SYS_ioctl, {0, 8}), Verdict::allow());
  EXPECT_EQ(judge(program, SYS_ioctl, {0, 9}), Verdict::trap());
}

TEST(SeccompCompile, WhatLibseccompCouldNotOrderIsRefusedNotGuessed) {
  SeccompPolicy policy;
  policy.rules = {refuse(one(SYS_ioctl, {is32(1, 7)}), EPERM, "r"), allow(one(SYS_ioctl), "overlaps")};
  EXPECT_EQ(reasonOf(policy), "seccomp_rules_overlap");
  policy.rules = {refuse(one(SYS_ioctl, {masked(1, 2, 2)}), EPERM, "r"),
                  allow(one(SYS_ioctl, {masked(1, 1, 1)}), "r")};
  EXPECT_EQ(reasonOf(policy), "seccomp_rules_overlap");
  policy.rules = {trap(one(SYS_ioctl, {is32(1, 7)}), "as unlisted, but it shadows"),
                  allow(one(SYS_ioctl), "r")};
  EXPECT_EQ(reasonOf(policy), "seccomp_rules_overlap");
  policy.rules = {allow(one(SYS_ioctl, {is32(1, 7)}), "r"),
                  allow(one(SYS_ioctl), "the same verdict is fine")};
  EXPECT_EQ(reasonOf(policy), "");
}

TEST(SeccompCompile, RangeBlocksHoldExactlyTheirRange) {
  for (std::uint64_t first = 0; first < 40; ++first) {
    for (std::uint64_t last = first; last < 40; ++last) {
      const auto blocks = rangeBlocks(0, first, last, 32);
      EXPECT_LE(blocks.size(), 10U);
      for (std::uint64_t value = 0; value < 80; ++value) {
        unsigned holds = 0;
        for (const ArgumentTest& block : blocks) holds += (value & block.mask) == block.value ? 1 : 0;
        ASSERT_EQ(holds, value >= first && value <= last ? 1U : 0U) << first << " " << last << " " << value;
      }
    }
  }
  EXPECT_EQ(rangeBlocks(0, 1, 0xffffffff, 32).size(), 32U);
  EXPECT_EQ(rangeBlocks(0, 1, ~0ULL, 64).size(), 64U);
}

TEST(SeccompCompile, MalformedRulesAreRefused) {
  SeccompPolicy policy;
  policy.rules = {allow(one(SYS_ioctl, {is32(1, 7), masked(1, 2, 2)}), "one argument twice")};
  EXPECT_EQ(reasonOf(policy), "seccomp_rule_refused");
  policy.rules = {allow(one(SYS_ioctl, {is32(6, 7)}), "a seventh argument")};
  EXPECT_EQ(reasonOf(policy), "seccomp_rule_refused");
  policy.rules = {refuse(one(SYS_ioctl), 0, "no errno")};
  EXPECT_EQ(reasonOf(policy), "seccomp_verdict_invalid");
  policy.rules = {refuse(one(SYS_ioctl), 4096, "no errno")};
  EXPECT_EQ(reasonOf(policy), "seccomp_verdict_invalid");
}

TEST(SeccompCompile, CallsThatTheArchitectureLacksAreLeftOut) {
  SeccompPolicy policy;
  policy.rules = {allow(one(-101), "a pseudo number of libseccomp"), allow(one(SYS_read), "r")};
  EXPECT_EQ(judge(compile(policy), SYS_read, {}), Verdict::allow());
}

TEST(SeccompCompile, OwnProcessIsThePidOfWhoCompiles) {
  SeccompPolicy policy;
  policy.rules = {allow(one(SYS_tgkill, {isOwnProcess(0)}), "r")};
  const Program program = compile(policy);
  const auto self = static_cast<std::uint64_t>(getpid());
  EXPECT_EQ(judge(program, SYS_tgkill, {self}), Verdict::allow());
  EXPECT_EQ(judge(program, SYS_tgkill, {self + 1}), Verdict::trap());
  EXPECT_EQ(judge(program, SYS_tgkill, {~0ULL}), Verdict::trap());
}

#ifdef __x86_64__
TEST(SeccompCompile, ForeignEntriesHaveTheirOwnVerdict) {
  for (const Verdict foreign : {Verdict::killProcess(), Verdict::fail(ENOSYS)}) {
    SeccompPolicy policy;
    policy.unlisted = Verdict::allow();
    policy.foreignEntry = foreign;
    policy.rules = {refuse(one(SYS_ptrace), EPERM, "r")};
    const Program program = compile(policy);
    seccomp_data data = callData(SYS_getpid, {});
    EXPECT_EQ(verdictOf(*evaluate(program, data)), Verdict::allow());
    data.arch = AUDIT_ARCH_I386;
    EXPECT_EQ(verdictOf(*evaluate(program, data)), foreign);
    EXPECT_EQ(judge(program, 0x40000000 | SYS_getpid, {}), foreign);
    EXPECT_EQ(judge(program, 0x40000000 + 547, {}), foreign);
    EXPECT_EQ(judge(program, 0x7fffffff, {}), foreign);
  }
}
#endif

TEST(SeccompCompile, NewerCallsHaveNames) {
  EXPECT_EQ(callName(462), "mseal");
  EXPECT_EQ(callName(444), "landlock_create_ruleset");
  EXPECT_EQ(callName(SYS_openat), "openat");
  EXPECT_EQ(callName(4000), "unknown");
  EXPECT_EQ(callName(-1), "unknown");
}

TEST(SeccompEval, RefusesWhatTheKernelWould) {
  EXPECT_EQ(evaluate({}, callData(0, {})), std::nullopt);
  EXPECT_EQ(evaluate({{{BPF_LD | BPF_W | BPF_ABS, 0, 0, 64}}}, callData(0, {})), std::nullopt);
  EXPECT_EQ(evaluate({{{BPF_LD | BPF_W | BPF_ABS, 0, 0, 2}}}, callData(0, {})), std::nullopt);
  EXPECT_EQ(evaluate({{{BPF_JMP | BPF_JA, 0, 0, 9}}}, callData(0, {})), std::nullopt);
  EXPECT_EQ(evaluate({{{BPF_RET | BPF_A, 0, 0, 0}}}, callData(0, {})), std::nullopt);
}

// Random policies: what libseccomp made of them, against the meaning of the text.

std::string describe(const SeccompPolicy& policy) {
  std::string text = "unlisted " + std::to_string(static_cast<int>(policy.unlisted.kind)) + "\n";
  for (const SeccompRule& rule : policy.rules) {
    for (const Call& call : rule.family.calls) {
      text += "  verdict " + std::to_string(static_cast<int>(rule.verdict.kind)) + " call " +
              std::to_string(call.number);
      for (const ArgumentTest& test : call.tests) {
        text += " [argument " + std::to_string(test.argument) + " compare " +
                std::to_string(static_cast<int>(test.compare)) + " mask " + std::to_string(test.mask) +
                " value " + std::to_string(test.value) + "]";
      }
      text += "\n";
    }
  }
  return text;
}

class RandomPolicy {
 public:
  explicit RandomPolicy(unsigned seed) : random_(seed) {}

  unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random_); }
  // Few values, so that rules meet one another, and high bits, so that widths matter.
  std::uint64_t value() {
    return below(6) + (below(4) == 0 ? 1ULL << 32 : 0) + (below(8) == 0 ? 1ULL << 31 : 0);
  }

  SeccompPolicy make() {
    SeccompPolicy policy;
    policy.unlisted = below(2) == 0 ? Verdict::trap() : Verdict::allow();
    const unsigned rules = 1 + below(6);
    for (unsigned i = 0; i < rules; ++i) policy.rules.push_back({family(), verdict(), "r"});
    return policy;
  }

 private:
  Verdict verdict() {
    const std::array verdicts = {Verdict::allow(), Verdict::fail(EPERM), Verdict::killProcess()};
    return verdicts[below(3)];
  }

  ArgumentTest test(unsigned argument) {
    switch (below(4)) {
      case 0:
        return is64(argument, value());
      case 1:
        return masked(argument, 1 + below(7), value());
      case 2:
        return masked(argument, 1ULL << below(3), value());
      default:
        return is32(argument, static_cast<std::uint32_t>(value()));
    }
  }

  Family family() {
    Family result{"random", {}};
    const unsigned calls = 1 + below(3);
    for (unsigned i = 0; i < calls; ++i) {
      Call call{static_cast<int>(100 + below(2)), {}};
      for (unsigned argument = 0; argument < 3; ++argument) {
        if (below(2) == 0) call.tests.push_back(test(argument));
      }
      result.calls.push_back(call);
    }
    return result;
  }

  std::mt19937 random_;
};

TEST(SeccompCompile, RandomPoliciesMeanWhatTheySay) {
  unsigned compiled = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomPolicy random(seed);
    const SeccompPolicy policy = random.make();
    Program program;
    try {
      program = compile(policy);
    } catch (const SetupError& error) {
      ASSERT_EQ(error.reason(), "seccomp_rules_overlap") << seed;
      continue;
    }
    ++compiled;
    for (unsigned sample = 0; sample < 60; ++sample) {
      const seccomp_data data =
          callData(static_cast<int>(100 + random.below(2)), {random.value(), random.value(), random.value()});
      const auto value = evaluate(program, data);
      ASSERT_TRUE(value);
      EXPECT_EQ(verdictOf(*value), rulingOf(policy, data).verdict)
          << "seed " << seed << " call " << data.nr << " " << data.args[0] << " " << data.args[1] << " "
          << data.args[2] << "\n"
          << describe(policy);
    }
  }
  EXPECT_GT(compiled, 500U);
}

}  // namespace
}  // namespace factionos::sandbox
