// Kernels that lack Landlock, or some of it: played by a filter of the test below the sandbox.
#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/families.h"
#include "sandbox/self_check.h"
#include "sandbox/support.h"
#include "sandbox/syscalls.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using testing::commandPolicy;
using testing::failureOf;
using testing::filePolicy;
using testing::inChild;
using testing::Notes;
using testing::openErrno;
using testing::Outcome;
using testing::pretendAbi;

SeccompRule withoutLandlock(int error) {
  return refuse({"withoutLandlock", {{calls::kLandlockCreateRuleset, {}}}}, error, "test");
}

TEST(Landlock, P52_WithoutLandlockNothingRunsUnconfined) {
  for (const int error : {ENOSYS, EOPNOTSUPP}) {  // not built in; built in and switched off
    const auto failure = failureOf([error] {
      testing::pretend({withoutLandlock(error)});
      enter(filePolicy({allowPath("/usr", access::kRead, "test")}));
    });
    EXPECT_EQ(failure.step, static_cast<unsigned>(Step::kLandlock));
    EXPECT_EQ(failure.reason, "landlock_missing");
    EXPECT_EQ(failure.error, ENOSYS);
    const auto ofWorker = failureOf([error] {
      testing::pretend({withoutLandlock(error)});
      enter(testing::workerPolicy());
    });
    EXPECT_EQ(ofWorker.reason, "landlock_missing");
    const Outcome probe = inChild([error](Notes& notes) {
      testing::pretend({withoutLandlock(error)});
      notes.numbers[0] = probeKernel().landlockAbi;
      return 0;
    });
    EXPECT_EQ(probe.notes.numbers[0], 0);
  }
}

// Also a kernel that knows the calls and then refuses one of them.
TEST(Landlock, P52_ARefusedStepOfLandlockIsFatal) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  for (const int number : {calls::kLandlockAddRule, calls::kLandlockRestrictSelf}) {
    const auto failure = failureOf([number] {
      testing::pretend({refuse({"refused", {{number, {}}}}, EPERM, "test")});
      enter(filePolicy({allowPath("/usr", access::kRead, "test")}));
    });
    EXPECT_EQ(failure.step, static_cast<unsigned>(Step::kLandlock)) << number;
    EXPECT_EQ(failure.error, EPERM) << number;
  }
}

TEST(Landlock, P53_SysIsNotNeededToKnow) {
  if (landlockAbi() == 0) ABSENT("no Landlock");
  const Outcome outcome = inChild([](Notes& notes) {
    notes.numbers[0] = probeKernel().landlockAbi;
    LandlockPolicy policy;
    policy.scopes = {Need::kOff, Need::kOff};
    for (const char* const path : {"/proc", "/dev"})
      policy.files.rules.push_back(allowPath(path, access::kAll, "test"));
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    restrictByLandlock(policy);
    notes.numbers[2] = openErrno("/sys", O_RDONLY | O_DIRECTORY);
    notes.numbers[1] = probeKernel().landlockAbi;
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[2], EACCES) << "/sys is closed";
  EXPECT_EQ(outcome.notes.numbers[1], outcome.notes.numbers[0]);
  EXPECT_GT(outcome.notes.numbers[1], 0);
}

struct OldKernel {
  int abi;
  bool truncate, ioctlDev, refer, tcp, scopes;
};

TEST(Landlock, P15_AnOldKernelsPostureNamesWhatIsNotEnforced) {
  if (landlockAbi() < 7) ABSENT("Landlock below ABI 7");
  for (const OldKernel& kernel :
       {OldKernel{1, false, false, false, false, false}, OldKernel{2, false, false, true, false, false},
        OldKernel{3, true, false, true, false, false}, OldKernel{4, true, false, true, true, false},
        OldKernel{5, true, true, true, true, false}, OldKernel{6, true, true, true, true, true},
        OldKernel{7, true, true, true, true, true}}) {
    const Outcome outcome = inChild([&kernel](Notes& notes) {
      pretendAbi(kernel.abi);
      Policy policy = filePolicy({allowPath("/usr", access::kReadExec, "test")});
      policy.scopes = {Need::kIfAvailable, Need::kIfAvailable};
      policy.tcp.need = Need::kIfAvailable;
      const Posture posture = enter(policy);
      const auto missing = [&posture](std::string_view label) {
        return std::find(posture.missing.begin(), posture.missing.end(), label) != posture.missing.end();
      };
      notes.numbers[0] = posture.landlock.abi;
      notes.numbers[1] = missing("landlock_truncate");
      notes.numbers[2] = missing("landlock_ioctl_dev");
      notes.numbers[3] = missing("landlock_refer");
      notes.numbers[4] = missing("landlock_tcp");
      notes.numbers[5] = missing("landlock_scope_signals");
      notes.numbers[6] = missing("landlock_scope_abstract_sockets");
      notes.numbers[7] = openErrno("/etc/passwd", O_RDONLY);
      return 0;
    });
    ASSERT_EQ(outcome.exitStatus, 0) << kernel.abi;
    EXPECT_EQ(outcome.notes.numbers[0], kernel.abi);
    EXPECT_NE(outcome.notes.numbers[1] == 1, kernel.truncate) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[2] == 1, kernel.ioctlDev) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[3] == 1, kernel.refer) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[4] == 1, kernel.tcp) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[5] == 1, kernel.scopes) << kernel.abi;
    EXPECT_NE(outcome.notes.numbers[6] == 1, kernel.scopes) << kernel.abi;
    EXPECT_EQ(outcome.notes.numbers[7], EACCES) << kernel.abi;
  }
}

TEST(Landlock, P15_WhatAPolicyRequiresIsFatalOnAnOldKernel) {
  if (landlockAbi() < 7) ABSENT("Landlock below ABI 7");
  const auto failureAt = [](int abi, const std::function<void(Policy&)>& change) {
    return failureOf([abi, &change] {
      pretendAbi(abi);
      Policy policy = filePolicy({});
      policy.scopes = {Need::kOff, Need::kOff};
      change(policy);
      enter(policy);
    });
  };
  const auto needsTruncate = [](Policy& policy) { policy.files.mustEnforce = access::kTruncate; };
  const auto needsTcp = [](Policy& policy) { policy.tcp.need = Need::kRequired; };
  const auto needsScope = [](Policy& policy) { policy.scopes.signals = Need::kRequired; };
  EXPECT_EQ(failureAt(2, needsTruncate).reason, "landlock_right_missing");
  EXPECT_EQ(failureAt(3, needsTruncate).step, 0U);
  EXPECT_EQ(failureAt(3, needsTcp).reason, "landlock_tcp_missing");
  EXPECT_EQ(failureAt(4, needsTcp).step, 0U);
  EXPECT_EQ(failureAt(5, needsScope).reason, "landlock_scope_missing");
  EXPECT_EQ(failureAt(6, needsScope).step, 0U);
}

}  // namespace
}  // namespace factionos::sandbox
