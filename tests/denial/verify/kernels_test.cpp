// Kernels that lack something, played by a filter of the test below everything. What carries the required
// guarantees is always there, or verify is red; what is lacking is named, and never green.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>

#include "broker/walls/kernel_posture.h"
#include "sandbox/families.h"
#include "sandbox/landlock.h"
#include "sandbox/support.h"
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
  SKIP_IF_SANITIZED();
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
                                   "command-plain/processes.leftovers", "command-plain/files.protected",
                                   "command-plain/files.protected-names", "command/calls.escape"}) {
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
  // The test plays the kernel by a listener, as a sandbox around ours may have one: a second is refused.
  EXPECT_EQ(examined.of("command-plain/files.protected-names").verdict, "inconclusive");
  EXPECT_FALSE(examined.of("command-plain/files.protected-names").counts);
}

TEST_P(OfAbi, TheApisPortAndAbstractSocketsFollowIt) {
  SKIP_IF_SANITIZED();
  const int abi = GetParam();
  if (sandbox::landlockAbi() < abi) ABSENT("Landlock of that ABI");
  const Examined plain = examine("command-full-plain", kAsItIs, [abi] { pretendAbi(abi); });
  EXPECT_TRUE(plain.passed);
  EXPECT_EQ(plain.of("command-full-plain/sockets.api").verdict, abi >= 4 ? "enforced" : "inconclusive");
  const Examined front = examine("front", kAsItIs, [abi] { pretendAbi(abi); });
  EXPECT_TRUE(front.passed);
  EXPECT_EQ(front.of("front/sockets.abstract-scope").verdict, abi >= 6 ? "enforced" : "inconclusive");
}

// ---- Some kinds of namespaces and not the others, as a sysctl for each kind allows

void refuseKinds(std::uint64_t kinds) {
  sandbox::Family family{"kinds", {}};
  for (std::uint64_t kind = 1; kind <= kinds; kind <<= 1) {
    if ((kinds & kind) == 0) continue;
    for (const int call : {SYS_unshare, SYS_clone})
      family.calls.push_back({call, {sandbox::masked(0, kind, kind)}});
  }
  pretend({sandbox::refuse(std::move(family), EPERM, "test")});
}

struct Partial {
  const char* name;
  std::uint64_t refused;
  std::vector<const char*> proven;  // of the profile `command`
  std::vector<const char*> open;
};

bool hasEveryKind() {
  const sandbox::NamespaceSupport support = sandbox::probeNamespaces();
  return support.user == 0 && support.mount == 0 && support.pid == 0 && support.network == 0;
}

class SomeKinds : public testing::TestWithParam<Partial> {
 protected:
  void SetUp() override {
    if (!hasEveryKind()) ABSENT("user namespaces");
  }
};
INSTANTIATE_TEST_SUITE_P(
    VerifyKernels, SomeKinds,
    testing::Values(Partial{"UserMountNetwork",
                            CLONE_NEWPID,
                            {"files.state", "files.protected", "files.protected-names", "files.rules",
                             "processes.programs", "sockets.files", "sockets.network-namespace",
                             "identity.capabilities", "limits.processes"},
                            {"files.outside", "processes.outside", "processes.leftovers"}},
                    Partial{"UserMount",
                            CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS,
                            {"files.state", "files.protected", "processes.programs", "identity.capabilities"},
                            {"files.outside", "processes.leftovers", "sockets.network-namespace"}},
                    Partial{"UserPidNetwork",
                            CLONE_NEWNS,
                            {"processes.leftovers", "sockets.network-namespace", "identity.capabilities",
                             "limits.processes"},
                            {"files.state", "files.outside", "files.protected", "processes.outside",
                             "sockets.files"}}),
    [](const auto& each) { return each.param.name; });

TEST_P(SomeKinds, ProveWhatTheyCarryAndTheRestIsNamed) {
  SKIP_IF_SANITIZED();
  const Examined examined = examine("command", kAsItIs, [] { refuseKinds(GetParam().refused); });
  EXPECT_TRUE(examined.passed);
  expectNoneFailed(examined);
  for (const std::string id : GetParam().proven)
    EXPECT_EQ(examined.of("command/" + id).verdict, "enforced")
        << id << ": " << examined.of("command/" + id).cause;
  for (const std::string id : GetParam().open) {
    const Judged& judged = examined.of("command/" + id);
    EXPECT_EQ(judged.verdict, "inconclusive") << id;
    EXPECT_FALSE(judged.counts) << id;
    EXPECT_NE(judged.cause.find("namespaces"), std::string::npos) << id << ": " << judged.cause;
  }
}

// ---- What diagnostics say on the same kernels

using sandbox::verify::Feature;
using walls::Cleanup;
using walls::ProcessView;
using walls::ProtectedPaths;

struct Told {
  std::vector<Feature> lacking;
  std::vector<Feature> without;
  Cleanup cleanup;
  ProtectedPaths paths;
  ProcessView processes;
};

Told toldUnder(const std::function<void()>& pretended) {
  constexpr int kMost = static_cast<int>(Feature::kCoreFiles) + 1;
  const auto outcome = sandbox::testing::inChild([&](sandbox::testing::Notes& notes) {
    pretended();
    const walls::KernelPosture posture = walls::postureOf(sandbox::probeKernel());
    for (const Feature feature : posture.lacking) notes.numbers[0] |= 1 << static_cast<int>(feature);
    for (const Feature feature : posture.without) notes.numbers[1] |= 1 << static_cast<int>(feature);
    notes.numbers[2] = static_cast<int>(posture.cleanup);
    notes.numbers[3] = static_cast<int>(posture.protectedPaths);
    notes.numbers[4] = static_cast<int>(posture.processes);
    return 0;
  });
  EXPECT_EQ(outcome.exitStatus, 0);
  const auto features = [](std::int64_t set) {
    std::vector<Feature> list;
    for (int each = 0; each < kMost; ++each) {
      if ((set >> each & 1) != 0) list.push_back(static_cast<Feature>(each));
    }
    return list;
  };
  const auto& numbers = outcome.notes.numbers;
  return {features(numbers[0]), features(numbers[1]), static_cast<Cleanup>(numbers[2]),
          static_cast<ProtectedPaths>(numbers[3]), static_cast<ProcessView>(numbers[4])};
}

bool contains(const std::vector<Feature>& features, Feature feature) {
  return std::ranges::find(features, feature) != features.end();
}

class Posture : public testing::Test {
 protected:
  void SetUp() override {
    if (!hasEveryKind()) ABSENT("user namespaces");
    if (sandbox::landlockAbi() < sandbox::kAbiOfScopes) ABSENT("Landlock ABI 6");
  }
};

TEST_F(Posture, OfThisKernelLacksNothing) {
  const Told told = toldUnder([] {});
  EXPECT_TRUE(told.lacking.empty());
  EXPECT_TRUE(told.without.empty());
  EXPECT_EQ(told.cleanup, Cleanup::kPidNamespace);
  EXPECT_EQ(told.paths, ProtectedPaths::kWhole);
  EXPECT_EQ(told.processes, ProcessView::kOwn);
}

TEST_F(Posture, NamesWhatIsTakenAwayAndWhatThenCarries) {
  const Told noPid = toldUnder([] { refuseKinds(CLONE_NEWPID); });
  EXPECT_TRUE(contains(noPid.without, Feature::kPidNamespace));
  EXPECT_FALSE(contains(noPid.without, Feature::kMountNamespace));
  EXPECT_EQ(noPid.cleanup, Cleanup::kSubreaper);
  EXPECT_EQ(noPid.processes, ProcessView::kShared);

  const Told noMount = toldUnder([] { refuseKinds(CLONE_NEWNS); });
  EXPECT_TRUE(contains(noMount.without, Feature::kMountNamespace));
  EXPECT_EQ(noMount.cleanup, Cleanup::kPidNamespace);
  EXPECT_EQ(noMount.processes, ProcessView::kShared);
  EXPECT_EQ(noMount.paths, ProtectedPaths::kNone);

  const Told noNetwork = toldUnder([] { refuseKinds(CLONE_NEWNET); });
  EXPECT_EQ(noNetwork.without, std::vector{Feature::kNetworkNamespace});

  const Told noUser = toldUnder([] { refuseKinds(CLONE_NEWUSER); });
  EXPECT_TRUE(noUser.lacking.empty());
  EXPECT_TRUE(contains(noUser.without, Feature::kUserNamespace));
  EXPECT_EQ(noUser.cleanup, Cleanup::kSignalScope);

  const Told oldLandlock = toldUnder([] { pretendAbi(3); });
  EXPECT_EQ(oldLandlock.without,
            (std::vector{Feature::kLandlockTcp, Feature::kLandlockScopes, Feature::kSupervision}))
      << "by a listener, which is in the way of another";
  EXPECT_EQ(oldLandlock.paths, ProtectedPaths::kExistingOnly);
  EXPECT_TRUE(oldLandlock.lacking.empty());

  const Told noLandlock = toldUnder([] {
    pretend({sandbox::refuse({"withoutLandlock", {{sandbox::calls::kLandlockCreateRuleset, {}}}}, ENOSYS,
                             "test")});
  });
  EXPECT_EQ(noLandlock.lacking, std::vector{Feature::kLandlock});

  const Told noSeccomp = toldUnder([] {
    pretend({sandbox::refuse({"withoutSeccomp", {{SYS_seccomp, {}}}}, ENOSYS, "test")});
  });
  EXPECT_EQ(noSeccomp.lacking, std::vector{Feature::kSeccomp});
}

TEST_F(Posture, WithoutNamespacesAndScopesATreeIsWalked) {
  const Told told = toldUnder([] {
    pretendAbi(5);
    refuseKinds(CLONE_NEWUSER);
  });
  EXPECT_EQ(told.cleanup, Cleanup::kSubreaper);
}

}  // namespace
}  // namespace factionos::test
