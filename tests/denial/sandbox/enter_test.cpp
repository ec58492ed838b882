// The one way in: its order, that every failure is fatal, and what stands afterwards.
#include "sandbox/enter.h"

#include <cerrno>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/families.h"
#include "sandbox/self_check.h"
#include "sandbox/support.h"
#include "sandbox/syscalls.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using testing::failureOf;
using testing::inChild;
using testing::Notes;
using testing::Outcome;
using testing::workerPolicy;

Policy namespacePolicy() {
  Policy policy = workerPolicy();
  policy.namespaces.user = Need::kRequired;
  return policy;
}

// One step of enter(), and the call whose refusal makes it fail. In the order of the steps.
struct FailingStep {
  Step step;
  Call call;
};

std::vector<FailingStep> failingSteps() {
  return {
      {Step::kDescriptors, {SYS_close_range, {}}},
      {Step::kLimits, {SYS_prlimit64, {}}},
      {Step::kUserNamespace, {SYS_unshare, {is32(0, CLONE_NEWUSER)}}},
      {Step::kCapabilities, {SYS_capset, {}}},
      {Step::kNoNewPrivileges, {SYS_prctl, {is32(0, PR_SET_NO_NEW_PRIVS)}}},
      {Step::kDumpable, {SYS_prctl, {is32(0, PR_SET_DUMPABLE)}}},
      {Step::kLandlock, {calls::kLandlockRestrictSelf, {}}},
      {Step::kSeccomp, {SYS_seccomp, {is32(0, SECCOMP_SET_MODE_FILTER)}}},
  };
}

// With every step from the n-th on made to fail, the n-th is the one that is told: so the steps come in this
// order, and none of them goes on after its failure.
TEST(Enter, EveryStepIsFatalAndTheOrderIsTheOneThatIsWritten) {
  compile(workerPolicy()
              .seccomp);  // libseccomp asks the kernel once what it can do, and must not ask our pretence
  const std::vector<FailingStep> steps = failingSteps();
  for (std::size_t first = 0; first < steps.size(); ++first) {
    const auto failure = failureOf([&steps, first] {
      Family refused{"refused", {}};
      for (std::size_t i = first; i < steps.size(); ++i) refused.calls.push_back(steps[i].call);
      testing::pretend({refuse(std::move(refused), ENOTNAM, "test")});
      enter(namespacePolicy());
    });
    EXPECT_EQ(failure.step, static_cast<unsigned>(steps[first].step))
        << label(steps[first].step) << " " << failure.reason;
    EXPECT_EQ(failure.error, ENOTNAM) << label(steps[first].step);
  }
  EXPECT_EQ(failureOf([] { enter(namespacePolicy()); }).step, 0U) << "control: nothing made to fail";
}

TEST(Enter, ThePostureSaysWhatStands) {
  const Outcome outcome = inChild([](Notes& notes) {
    const Posture posture = enter(workerPolicy());
    notes.numbers[0] = posture.noNewPrivileges && posture.capabilitiesDropped && !posture.dumpable;
    notes.numbers[1] = posture.seccompMode;
    notes.numbers[2] = posture.landlock.abi;
    notes.numbers[3] = posture.landlock.active;
    notes.numbers[4] = posture.landlock.signalsScoped && posture.landlock.abstractSocketsScoped;
    notes.numbers[5] = posture.policy == "test_worker";
    notes.numbers[6] = posture.namespaces.user || posture.namespaces.mount || posture.mountsApplied;
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 1);
  EXPECT_EQ(outcome.notes.numbers[1], 2);
  EXPECT_EQ(outcome.notes.numbers[2], landlockAbi());
  EXPECT_EQ(outcome.notes.numbers[3], 1);
  EXPECT_EQ(outcome.notes.numbers[4], 1);
  EXPECT_EQ(outcome.notes.numbers[5], 1);
  EXPECT_EQ(outcome.notes.numbers[6], 0);
}

TEST(Enter, RootIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to show that root is refused";
  const pid_t child = fork();
  if (child == 0) {
    try {
      enter(workerPolicy());
    } catch (const SetupError& error) {
      _exit(error.step() == Step::kIdentity && error.reason() == "root_refused" ? 7 : 8);
    }
    _exit(9);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Enter, ASecondThreadIsRefused) {
#ifdef FACTIONOS_SANITIZED
  GTEST_SKIP() << "sanitizers have threads of their own, so the check is off there";
#endif
  const auto failure = failureOf([] {
    const Pipe line = makePipe();
    std::thread other([&line] {
      char letter = 0;
      if (read(line.read.get(), &letter, 1) < 0) return;
    });
    other.detach();
    enter(workerPolicy());
  });
  EXPECT_EQ(failure.step, static_cast<unsigned>(Step::kIdentity));
  EXPECT_EQ(failure.reason, "threads_refused");
}

TEST(Enter, DescriptorsThatAreNotKeptAreGone) {
  const Outcome outcome = inChild([](Notes& notes) {
    Policy policy = workerPolicy();
    const int kept = dup2(1, 30);
    dup2(1, 31);
    policy.keep.push_back(kept);
    enter(policy);
    notes.numbers[0] = fcntl(30, F_GETFD);
    notes.numbers[1] = fcntl(31, F_GETFD);
    notes.numbers[2] = firstUnexpected(policy.keep, 100);
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], -1);
  EXPECT_EQ(outcome.notes.numbers[2], -1);
}

TEST(Enter, LimitsAreLoweredNeverRaisedAndNoCoreIsLeft) {
  const Outcome outcome = inChild([](Notes& notes) {
    const rlimit low{40, 50};
    setrlimit(RLIMIT_NOFILE, &low);
    Policy policy = workerPolicy();
    policy.limits = {{RLIMIT_NOFILE, 60, "higher than the hard limit"}, {RLIMIT_FSIZE, 0, "writes no file"}};
    enter(policy);
    int at = 0;
    for (const auto resource : {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CORE}) {
      rlimit now{};
      getrlimit(resource, &now);
      notes.numbers[static_cast<std::size_t>(at++)] = static_cast<std::int64_t>(now.rlim_cur);
      notes.numbers[static_cast<std::size_t>(at++)] = static_cast<std::int64_t>(now.rlim_max);
    }
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 50);
  EXPECT_EQ(outcome.notes.numbers[1], 50);
  for (const std::size_t i : {2U, 3U}) EXPECT_EQ(outcome.notes.numbers[i], 0) << i;
  // 1 dumps nothing, into a pipe neither; a hard limit of 0 can't be raised.
  rlimit own{};
  getrlimit(RLIMIT_CORE, &own);
  for (const std::size_t i : {4U, 5U}) EXPECT_EQ(outcome.notes.numbers[i], own.rlim_max == 0 ? 0 : 1) << i;
}

TEST(Enter, NoCapabilityIsLeftNotEvenInTheBoundingSet) {
  const Outcome outcome = inChild([](Notes& notes) {
    Policy policy = testing::commandPolicy();
    policy.namespaces.user = Need::kIfAvailable;
    const Posture posture = enter(policy);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[2] = {};
    syscall(SYS_capget, &header, sets);
    notes.numbers[0] = sets[0].effective | sets[1].effective | sets[0].permitted | sets[1].permitted;
    notes.numbers[1] = sets[0].inheritable | sets[1].inheritable;
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
      notes.numbers[2] += prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    }
    notes.numbers[3] = posture.namespaces.user;
    notes.numbers[4] = posture.boundingSetDropped;
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
  EXPECT_EQ(outcome.notes.numbers[4], outcome.notes.numbers[3])
      << "it can be dropped exactly with CAP_SETPCAP";
  if (outcome.notes.numbers[4] == 1) {
    EXPECT_EQ(outcome.notes.numbers[2], 0);
  }
}

TEST(Enter, MemoryThatWasWritableGainsNoExecution) {
  const auto gain = [](MemoryExecution execution) {
    return inChild([execution](Notes& notes) {
      Policy policy = testing::commandPolicy();
      policy.memoryExecution = execution;
      notes.numbers[0] = enter(policy).memoryExecutionRefused;
      void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      notes.numbers[1] = mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 ? 0 : errno;
      return 0;
    });
  };
  const Outcome control = gain(MemoryExecution::kUnrestricted);
  EXPECT_EQ(control.notes.numbers[1], 0);
  const Outcome refused = gain(MemoryExecution::kRefuseGain);
  if (refused.notes.numbers[0] == 0) ABSENT("the kernel has no PR_SET_MDWE");
  EXPECT_EQ(refused.notes.numbers[1], EACCES);
}

// ---- The self-check must see a layer that does not hold

TEST(SelfCheck, AFilterThatIsNotOursIsNotTakenForOurs) {
  SKIP_IF_SANITIZED();
  const auto failure = failureOf([] {
    Policy outer = testing::commandPolicy();
    outer.name = "another_policy";
    enter(outer);
    checkSelf(testing::commandPolicy());
  });
  EXPECT_EQ(failure.step, static_cast<unsigned>(Step::kSelfCheck));
  EXPECT_EQ(failure.reason, "seccomp_does_not_hold");
  EXPECT_EQ(failureOf([] {
              enter(testing::commandPolicy());
              checkSelf(testing::commandPolicy());
            }).step,
            0U);
}

TEST(SelfCheck, EachMissingLayerIsNamed) {
  const auto reasonOf = [](const std::function<void()>& before) {
    return failureOf([&before] {
             before();
             checkSelf(testing::commandPolicy());
           })
        .reason;
  };
  EXPECT_EQ(reasonOf([] {}), "no_new_privs_does_not_hold");
  EXPECT_EQ(reasonOf([] { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }), "still_dumpable");
  EXPECT_EQ(reasonOf([] {
              prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
              prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
            }),
            "seccomp_does_not_hold");
  EXPECT_EQ(reasonOf([] {
              prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
              prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
              dup2(1, 9);
            }),
            "descriptor_left_open");
}

TEST(SelfCheck, ALandlockThatRestrictsNothingIsSeen) {
  const auto failure = failureOf([] {
    const LandlockProbe probe = LandlockProbe::before({});
    probe.after();
  });
  EXPECT_EQ(failure.step, static_cast<unsigned>(Step::kSelfCheck));
  EXPECT_EQ(failure.reason, "landlock_does_not_hold");
}

// ---- Listener

TEST(Enter, TheListenerOfANotifyingFilterReachesTheSupervisor) {
  SKIP_IF_SANITIZED();
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const Fd mine(pair[0]);
  const Outcome outcome = inChild([&pair](Notes& notes) {
    // inChild closed the pair: the two ends are made anew inside.
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return 1;
    Policy policy = testing::commandPolicy();
    policy.seccomp.rules.push_back(notify({"asked", {{SYS_mkdirat, {}}}}, "test"));
    policy.seccomp.listenerTo = pair[1];
    policy.keep.insert(policy.keep.end(), {pair[0], pair[1]});
    enter(policy);
    char letter = 0;
    iovec content{&letter, 1};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    notes.numbers[0] = recvmsg(pair[0], &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    notes.numbers[1] = letter;
    notes.numbers[2] = CMSG_FIRSTHDR(&message) != nullptr;
    return 0;
  });
  close(pair[1]);
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 1);
  EXPECT_EQ(outcome.notes.numbers[1], 'L');
  EXPECT_EQ(outcome.notes.numbers[2], 1);
}

TEST(Support, TheProbeAgreesWithWhatHolds) {
  const Outcome outcome = inChild([](Notes& notes) {
    const KernelSupport support = probeKernel();
    notes.numbers[0] = support.seccompFilter;
    notes.numbers[1] = support.landlockAbi;
    notes.numbers[2] = support.seccompNotify;
    notes.numbers[3] = support.seccompThreadSync;
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 1);
  EXPECT_EQ(outcome.notes.numbers[1], landlockAbi());
  EXPECT_EQ(outcome.notes.numbers[2], 1);
  EXPECT_EQ(outcome.notes.numbers[3], 1);
}

// As on WSL 2: the kernel has one for each task, and whoever runs us holds it.
TEST(Support, AListenerAroundOursIsSeen) {
  const Outcome outcome = inChild([](Notes& notes) {
    sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const sock_fprog program{1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const Fd listener(
        static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kListenerFlags, &program)));
    notes.numbers[0] = listener ? 1 : 0;
    notes.numbers[1] = probeKernel().seccompNotify;
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 1);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
}

TEST(Support, WithoutSeccompNothingIsClaimed) {
  const Outcome outcome = inChild([](Notes& notes) {
    testing::pretend({refuse({"seccomp", {{SYS_seccomp, {}}}}, ENOSYS, "test")});
    const KernelSupport support = probeKernel();
    notes.numbers[0] = support.seccompFilter || support.seccompNotify || support.seccompThreadSync;
    notes.numbers[1] = support.landlockAbi;
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_GT(outcome.notes.numbers[1], 0);
}

}  // namespace
}  // namespace factionos::sandbox
