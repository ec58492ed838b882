// Kernels that lack Landlock, or some of it: played by a filter of the test below the sandbox.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

Fd receiveListener(int socket) {
  char letter = 0;
  iovec content{&letter, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || letter != 'L') return {};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
  int descriptor = -1;
  memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return Fd(descriptor);
}

// The supervisor's half: answers every question with `abi` until the last process under the filter is gone.
[[noreturn]] void answerWith(int abi, int socket) {
  const int keep[] = {socket};
  closeAllBut(keep);
  const Fd listener = receiveListener(socket);
  while (true) {
    pollfd waiting{listener.get(), POLLIN, 0};
    if (poll(&waiting, 1, -1) != 1 || (waiting.revents & POLLIN) == 0) _exit(0);
    seccomp_notif question{};
    if (ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) continue;
    seccomp_notif_resp answer{question.id, abi, 0, 0};
    ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

// Answers the question for the ABI as an older kernel would. Everything else goes to the real kernel, which
// honours the lesser rights that the question's answer leads to.
void pretendAbi(int abi) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) _exit(1);
  if (fork() == 0) answerWith(abi, pair[1]);
  SeccompPolicy policy;
  policy.unlisted = Verdict::allow();
  policy.foreignEntry = Verdict::allow();
  policy.rules = {notify({"abi", {{calls::kLandlockCreateRuleset, {is32(2, 1)}}}}, "test")};
  const Program program = compile(policy);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(1);
  sendListener(pair[0], Fd(loadProgram(program, Listener::kWanted)));
  close(pair[0]);
  close(pair[1]);
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
