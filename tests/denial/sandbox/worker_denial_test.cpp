// An allow-list on the real kernel: what is listed works, what is not ends the process, and the number is
// told.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using testing::inChild;
using testing::Notes;
using testing::Outcome;
using testing::workerPolicy;

struct Forbidden {
  const char* name;
  int number;
  std::array<long, 6> arguments;
};

Outcome attempt(const Forbidden& call) {
  return inChild([&call](Notes&) {
    enter(workerPolicy());
    const auto& a = call.arguments;
    syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return 0;  // it came back
  });
}

TEST(WorkerDenial, AnUnlistedCallEndsTheProcessAndItsNumberIsTold) {
  SKIP_IF_SANITIZED();
  for (const Forbidden& call :
       {Forbidden{"socket", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}}, Forbidden{"connect", SYS_connect, {0}},
        Forbidden{"execve", SYS_execve, {0}}, Forbidden{"kill", SYS_kill, {1, 0}},
        Forbidden{"process clone", SYS_clone, {SIGCHLD}}, Forbidden{"unlinkat", SYS_unlinkat, {0}},
        Forbidden{"executable mmap",
                  SYS_mmap,
                  {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
        Forbidden{"prctl of anything", SYS_prctl, {PR_SET_DUMPABLE, 1}},
        Forbidden{"fcntl F_SETOWN", SYS_fcntl, {4, F_SETOWN, 1}}, Forbidden{"ioctl", SYS_ioctl, {0, 0x5412}},
        Forbidden{"tgkill of another", SYS_tgkill, {1, 1, 0}},
        Forbidden{"inotify_init1", SYS_inotify_init1, {0}},
        Forbidden{"personality", SYS_personality, {0xffffffff}}, Forbidden{"an unknown number", 900, {0}}}) {
    const Outcome outcome = attempt(call);
    EXPECT_TRUE(outcome.trappedBy(call.number)) << call.name << " status " << outcome.exitStatus << " signal "
                                                << outcome.signal << " events " << outcome.events.size();
#ifdef __x86_64__
    if (!outcome.events.empty()) {
      EXPECT_EQ(outcome.events[0].numbers[1], AUDIT_ARCH_X86_64) << call.name;
    }
#endif
  }
}

TEST(WorkerDenial, AnEscapeKillsOutright) {
  SKIP_IF_SANITIZED();
  for (const int number : {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_bpf, SYS_mount,
                           SYS_unshare, SYS_setns, SYS_keyctl, SYS_userfaultfd, SYS_perf_event_open,
                           SYS_kexec_load, SYS_init_module, SYS_pidfd_getfd, SYS_open_tree, SYS_pivot_root}) {
    const Outcome outcome = attempt({"escape", number, {0}});
    EXPECT_EQ(outcome.signal, SIGSYS) << callName(number);
    EXPECT_TRUE(outcome.events.empty()) << callName(number);
  }
}

TEST(WorkerDenial, P21_IoUringAndClone3LookAbsent) {
  SKIP_IF_SANITIZED();
  const auto errors = [](Notes& notes) {
    int at = 0;
    for (const int number : {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_clone3}) {
      errno = 0;
      syscall(number, 0, 0, 0, 0, 0, 0);
      notes.numbers[static_cast<std::size_t>(at++)] = errno;
    }
    return 0;
  };
  const Outcome control = inChild(errors);
  const Outcome filtered = inChild([&errors](Notes& notes) {
    enter(workerPolicy());
    return errors(notes);
  });
  ASSERT_EQ(filtered.exitStatus, 0);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(control.notes.numbers[i], ENOSYS) << "the control must have the call: " << i;
    EXPECT_EQ(filtered.notes.numbers[i], ENOSYS) << i;
  }
}

TEST(WorkerDenial, OpeningFilesIsRefusedQuietly) {
  SKIP_IF_SANITIZED();
  const auto tryOpen = [](Notes& notes) {
    const int opened = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    notes.numbers[0] = opened < 0 ? errno : 0;
    notes.numbers[1] = ::access("/etc/passwd", R_OK) == 0 ? 0 : errno;
    return 0;
  };
  EXPECT_EQ(inChild(tryOpen).notes.numbers[0], 0);
  const Outcome filtered = inChild([&tryOpen](Notes& notes) {
    enter(workerPolicy());
    return tryOpen(notes);
  });
  EXPECT_EQ(filtered.exitStatus, 0);
  EXPECT_EQ(filtered.notes.numbers[0], EACCES);
  EXPECT_EQ(filtered.notes.numbers[1], EACCES);
}

TEST(WorkerDenial, TheTrapHandlerCannotBeReplacedNorBlocked) {
  SKIP_IF_SANITIZED();
  const Outcome replaced = inChild([](Notes&) {
    enter(workerPolicy());
    std::signal(SIGSYS, SIG_IGN);
    return 0;
  });
  EXPECT_EQ(replaced.signal, SIGSYS);
  EXPECT_TRUE(replaced.events.empty());

  const Outcome highBits = inChild([](Notes&) {
    enter(workerPolicy());
    syscall(SYS_rt_sigaction, SIGSYS | (1L << 32), nullptr, nullptr, 8);
    return 0;
  });
  EXPECT_EQ(highBits.signal, SIGSYS);

  const Outcome blocked = inChild([](Notes&) {
    enter(workerPolicy());
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    return 0;
  });
  EXPECT_EQ(blocked.signal, SIGSYS);

  const Outcome control = inChild([](Notes&) {
    enter(workerPolicy());
    std::signal(SIGUSR1, SIG_IGN);
    return 0;
  });
  EXPECT_EQ(control.exitStatus, 0);
}

TEST(WorkerDenial, AbortEndsBySigabrt) {
  SKIP_IF_SANITIZED();
  EXPECT_EQ(inChild([](Notes&) {
              enter(workerPolicy());
              std::abort();
              return 0;
            }).signal,
            SIGABRT);
  EXPECT_EQ(inChild([](Notes&) {
              enter(workerPolicy());
              std::thread([] { throw 1; }).join();
              return 0;
            }).signal,
            SIGABRT);
}

TEST(WorkerDenial, AStackOverflowAndABadAccessEndBySegv) {
  SKIP_IF_SANITIZED();
  EXPECT_EQ(inChild([](Notes&) {
              enter(workerPolicy());
              volatile char* const nowhere = nullptr;
              *nowhere = 1;
              return 0;
            }).signal,
            SIGSEGV);
}

// Sizes on both sides of the mmap threshold, freed in another order and by other threads, so that arenas grow
// and shrink.
void churn() {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (unsigned round = 0; round < 40; ++round) {
    for (unsigned i = 0; i < 200; ++i) {
      const std::size_t size = 16U << (i % 16);
      blocks.push_back(std::make_unique<char[]>(size));
      blocks.back()[size - 1] = 'x';
    }
    if (round % 2 == 1) blocks.clear();
  }
}

TEST(WorkerDenial, MallocHeavyThreadsWorkUnderTheFilter) {
  const Outcome outcome = inChild([](Notes&) {
    enter(workerPolicy());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(churn);
    for (std::thread& thread : threads) thread.join();
    churn();
    return 0;
  });
  EXPECT_EQ(outcome.exitStatus, 0) << "signal " << outcome.signal << " call "
                                   << (outcome.events.empty() ? 0 : outcome.events[0].numbers[0]);
}

TEST(WorkerDenial, ALoopSocketsTimeAndRandomnessWork) {
  const Outcome outcome = inChild([](Notes& notes) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return 1;
    Policy policy = workerPolicy();
    policy.keep.insert(policy.keep.end(), {pair[0], pair[1]});
    const Posture posture = enter(policy);
    notes.numbers[0] = posture.seccompMode;
    char letter = 'x';
    if (send(pair[0], &letter, 1, MSG_NOSIGNAL) != 1 || recv(pair[1], &letter, 1, 0) != 1) return 2;
    const int loop = epoll_create1(EPOLL_CLOEXEC);
    const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    if (epoll_ctl(loop, EPOLL_CTL_ADD, event, &wanted) != 0 || eventfd_write(event, 1) != 0) return 3;
    if (epoll_wait(loop, &wanted, 1, 1000) != 1) return 4;
    if (timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) < 0) return 5;
    if (getrandom(&letter, 1, 0) != 1) return 6;
    struct stat status {};
    if (fstat(event, &status) != 0) return 7;
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 8;
    return isatty(event) == 0 && errno == ENOTTY ? 0 : 9;
  });
  EXPECT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 2);
}

#ifdef __x86_64__
long callByInt80(long number) {
  long result = number;
  asm volatile("int $0x80" : "+a"(result) : : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory");
  return result;
}
constexpr long kGetpidOf32Bits = 20;

int callByInt80InChild(const std::function<void()>& before, Outcome& outcome) {
  outcome = inChild([&before](Notes& notes) {
    before();
    const long result = callByInt80(kGetpidOf32Bits);
    notes.numbers[0] = result == getpid() ? 1 : result;
    return 0;
  });
  return outcome.signal;
}

// Where the kernel was built or booted without its 32-bit entry, the instruction itself faults: nothing is
// left to deny.
bool has32BitEntry() {
  Outcome control;
  const bool present = callByInt80InChild([] {}, control) == 0 && control.notes.numbers[0] == 1;
  if (!present) {
    EXPECT_EQ(control.signal, SIGSEGV);
    GTEST_LOG_(INFO) << "this kernel has no 32-bit entry: int 0x80 faults, filter or not";
  }
  return present;
}

TEST(WorkerDenial, ForeignEntriesKill) {
  SKIP_IF_SANITIZED();
  Outcome filtered;
  callByInt80InChild([] { enter(workerPolicy()); }, filtered);
  EXPECT_EQ(filtered.signal, has32BitEntry() ? SIGSYS : SIGSEGV);
  const Outcome viaX32 = inChild([](Notes&) {
    enter(workerPolicy());
    syscall(0x40000000 | SYS_getpid);
    return 0;
  });
  EXPECT_EQ(viaX32.signal, SIGSYS);
}

TEST(WorkerDenial, ForeignEntriesOfACommandFailWithItsErrno) {
  SKIP_IF_SANITIZED();
  Outcome filtered;
  callByInt80InChild([] { enter(testing::commandPolicy()); }, filtered);
  if (has32BitEntry()) {
    EXPECT_EQ(filtered.notes.numbers[0], -EPERM);
  } else {
    EXPECT_EQ(filtered.signal, SIGSEGV);
  }
  const auto viaX32 = [](Notes& notes) {
    errno = 0;
    syscall(0x40000000 | SYS_getpid);
    notes.numbers[0] = errno;
    return 0;
  };
  EXPECT_NE(inChild(viaX32).notes.numbers[0], EPERM) << "control";
  const Outcome outcome = inChild([&viaX32](Notes& notes) {
    enter(testing::commandPolicy());
    return viaX32(notes);
  });
  EXPECT_EQ(outcome.notes.numbers[0], EPERM);
}
#endif

}  // namespace
}  // namespace factionos::sandbox
