// Filters that the build compiled: the same as libseccomp would make now, and taken for nothing but their own
// rules.
#include "sandbox/programs.h"

#include <vector>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/seccomp_eval.h"
#include "sandbox/self_check.h"
#include "workers/probe/policy.h"
#include "workers/probe/programs.h"
#include "workers/pty/policy.h"
#include "workers/pty/programs.h"
#include "workers/session/command_policy.h"
#include "workers/session/keeper_policy.h"
#include "workers/session/policy.h"
#include "workers/session/programs.h"

namespace factionos::sandbox {

namespace {

class BuiltPrograms : public testing::Test {
 protected:
  ~BuiltPrograms() override { useBuiltPrograms({}); }

  // As numbers, which compare and print.
  static std::vector<std::uint64_t> text(const Program& program) {
    std::vector<std::uint64_t> words;
    for (const sock_filter& one : program.instructions)
      words.insert(words.end(), {one.code, one.jt, one.jf, one.k});
    return words;
  }

  static std::uint32_t self() { return static_cast<std::uint32_t>(getpid()); }
};

TEST_F(BuiltPrograms, AreWhatLibseccompWouldMakeForThisProcess) {
  useBuiltPrograms(session::kPrograms);
  for (const SeccompPolicy& policy : session::builtInPolicies()) {
    ASSERT_NE(findBuiltProgram(policy), nullptr);
    EXPECT_EQ(text(compile(policy)), text(compileFor(policy, self())));
  }
  useBuiltPrograms(pty::kPrograms);
  const SeccompPolicy policy = withSelfCheck(pty::policy());
  ASSERT_NE(findBuiltProgram(policy), nullptr);
  EXPECT_EQ(text(compile(policy)), text(compileFor(policy, self())));
}

TEST_F(BuiltPrograms, HoldWhatASessionEntersWhateverItsCommandIs) {
  useBuiltPrograms(session::kPrograms);
  EXPECT_NE(findBuiltProgram(withSelfCheck(session::policy(probeNamespaces()))), nullptr);
  EXPECT_NE(findBuiltProgram(session::afterStartCalls()), nullptr);
  EXPECT_NE(findBuiltProgram(withSelfCheck(session::keeperPolicy({3, 5}))), nullptr);
  session::CommandScope scope;
  scope.workspace = "/tmp";
  scope.keep = {0, 1, 2};
  scope.limits.processes = 7;
  NamespacePosture all;
  all.user = all.pid = all.mount = all.network = all.ipc = all.uts = true;
  EXPECT_NE(findBuiltProgram(withSelfCheck(session::commandPolicy(scope, all, landlockAbi()))), nullptr);
  EXPECT_NE(findBuiltProgram(withSelfCheck(session::commandPolicy(scope, {}, landlockAbi()))), nullptr);
}

TEST_F(BuiltPrograms, HoldWhatAProbeAndItsProgramEnter) {
  useBuiltPrograms(probe::kPrograms);
  EXPECT_NE(findBuiltProgram(withSelfCheck(probe::policy(5, 300))), nullptr);
  EXPECT_NE(findBuiltProgram(probe::programPolicy(5, 0).seccomp), nullptr)
      << "it would be compiled in a process that may make no memory file";
}

TEST_F(BuiltPrograms, ANarrowerOrWiderPolicyIsCompiledAnew) {
  useBuiltPrograms(session::kPrograms);
  const SeccompPolicy original = withSelfCheck(session::keeperPolicy({}));
  std::vector<SeccompPolicy> others(5, original);
  others[0].unlisted = Verdict::allow();
  others[1].foreignEntry = Verdict::fail(ENOSYS);
  others[2].rules.back().verdict = Verdict::fail(EPERM);
  others[3].rules.back().family.calls.pop_back();
  for (Call& call : others[4].rules[0].family.calls) {
    if (!call.tests.empty()) call.tests[0].mask ^= 1;
  }
  for (const SeccompPolicy& other : others) EXPECT_EQ(findBuiltProgram(other), nullptr);
}

TEST_F(BuiltPrograms, TheOwnProcessIsWhoeverCompiles) {
  useBuiltPrograms(pty::kPrograms);
  ASSERT_NE(findBuiltProgram(withSelfCheck(pty::policy())), nullptr);
  const Program program = compile(withSelfCheck(pty::policy()));
  const auto judge = [&program](std::uint64_t process) {
    return verdictOf(evaluate(program, callData(SYS_tgkill, {process})).value());
  };
  EXPECT_EQ(judge(self()), Verdict::allow());
  EXPECT_EQ(judge(self() + 1), Verdict::trap());
  EXPECT_EQ(judge(kAnyProcess), Verdict::trap());
}

}  // namespace
}  // namespace factionos::sandbox
