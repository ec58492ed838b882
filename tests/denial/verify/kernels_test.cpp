// Kernels that lack something, played by a filter of the test below everything. What carries the required
// guarantees is always there, or verify is red; what is lacking is named, and never green.
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "sandbox/families.h"
#include "sandbox/landlock.h"
#include "sandbox/syscalls.h"
#include "tests/denial/verify/examined.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::test {
namespace {

namespace families = sandbox::families;
using sandbox::testing::pretend;
using sandbox::testing::pretendAbi;

const Change kAsItIs = [](sandbox::verify::Subject&) {};

void expectNoneFailed(const Examined& examined) {
  for (const std::string& name : examined.thatAre("not_enforced"))
    ADD_FAILURE() << name << examined.of(name).cause;
}

// Off by a sysctl (max_user_namespaces=0 gives ENOSPC), and by a policy such as AppArmor's (EPERM). Those
// that would enter some are looked at twice.
TEST(VerifyKernels, WithoutNamespacesTheRequiredGuaranteesHoldAndTheOthersAreNotGreen) {
  for (const int error : {EPERM, ENOSPC}) {
    const Examined examined = examine(error == EPERM ? "" : "command", kAsItIs, [error] {
      pretend({sandbox::refuse(families::namespaceCalls(), error, "test"),
               sandbox::refuse(families::cloneNamespaces(), error, "test")});
    });
    EXPECT_TRUE(examined.passed) << error;
    expectNoneFailed(examined);
    for (const char* const name : {"command/files.outside", "command/processes.outside",
                                   "command/files.protected", "command-loopback/calls.kernel"}) {
      EXPECT_EQ(examined.of(name).verdict, "inconclusive") << name;
      EXPECT_FALSE(examined.of(name).counts) << name;
    }
    for (const char* const name : {"command-plain/files.outside", "command-plain/processes.outside",
                                   "command-plain/processes.leftovers", "command/calls.escape"}) {
      EXPECT_EQ(examined.of(name).verdict, "enforced") << name << ": " << examined.of(name).cause;
    }
    if (error == EPERM) {
      EXPECT_EQ(examined.of("front/files.any").verdict, "enforced");
    }
  }
}

TEST(VerifyKernels, WithoutLandlockNothingCanBeEnteredAndVerifyIsRed) {
  const Examined examined = examine("", kAsItIs, [] {
    pretend({sandbox::refuse({"withoutLandlock", {{sandbox::calls::kLandlockCreateRuleset, {}}}}, ENOSYS,
                             "test")});
  });
  EXPECT_FALSE(examined.passed);
  for (const char* const name : {"front/files.any", "broker/calls.kernel", "command-plain/calls.kernel"}) {
    EXPECT_EQ(examined.of(name).verdict, "not_enforced") << name;
    EXPECT_NE(examined.of(name).cause.find("landlock_missing"), std::string::npos) << examined.of(name).cause;
  }
  EXPECT_EQ(examined.of("command-plain/files.outside").verdict, "inconclusive");
  EXPECT_TRUE(examined.of("command-plain/files.outside").counts) << "it is required whatever the kernel has";
}

class OfAbi : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Landlock, OfAbi, testing::Range(1, 8));

TEST_P(OfAbi, WhatItCarriesIsEnforcedAndWhatItLacksIsNamed) {
  const int abi = GetParam();
  if (sandbox::landlockAbi() < abi) ABSENT("Landlock of that ABI");
  const Examined examined = examine("command-plain", kAsItIs, [abi] { pretendAbi(abi); });
  EXPECT_TRUE(examined.passed);
  expectNoneFailed(examined);
  const auto verdictFrom = [abi](int since) { return abi >= since ? "enforced" : "inconclusive"; };
  EXPECT_EQ(examined.of("command-plain/files.outside").verdict, "enforced");
  EXPECT_EQ(examined.of("command-plain/files.truncate").verdict, verdictFrom(3));
  EXPECT_EQ(examined.of("command-plain/processes.signal-scope").verdict, verdictFrom(6));
  EXPECT_EQ(examined.of("command-plain/processes.leftovers").verdict, verdictFrom(6));
}

TEST_P(OfAbi, TheApisPortAndAbstractSocketsFollowIt) {
  const int abi = GetParam();
  if (sandbox::landlockAbi() < abi) ABSENT("Landlock of that ABI");
  const Examined plain = examine("command-full-plain", kAsItIs, [abi] { pretendAbi(abi); });
  EXPECT_TRUE(plain.passed);
  EXPECT_EQ(plain.of("command-full-plain/sockets.api").verdict, abi >= 4 ? "enforced" : "inconclusive");
  const Examined front = examine("front", kAsItIs, [abi] { pretendAbi(abi); });
  EXPECT_TRUE(front.passed);
  EXPECT_EQ(front.of("front/sockets.abstract-scope").verdict, abi >= 6 ? "enforced" : "inconclusive");
}

}  // namespace
}  // namespace factionos::test
