// A front that was taken over, inside its real profile: what it tries, and the exact cause that it fails by.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "sandbox/enter.h"
#include "tests/unit/sandbox/sandboxed_child.h"
#include "workers/front/policy.h"

namespace factionos::front {
namespace {

using sandbox::testing::inChild;
using sandbox::testing::Notes;
using sandbox::testing::Outcome;

enum class Where { kOutside, kInside };

// Runs `act` in a child; with kInside under the front's profile, with `keep` as a further descriptor that
// stays open.
Outcome attempt(
    Where where, const std::function<long(int)>& act,
    const std::function<int()>& prepare = [] { return -1; }) {
  return inChild([&](Notes& notes) {
    const int prepared = prepare();
    if (where == Where::kInside) {
      sandbox::Policy policy = frontPolicy();
      if (prepared >= 0) policy.keep.push_back(prepared);
      sandbox::enter(policy);
    }
    notes.numbers[0] = act(prepared);
    notes.numbers[1] = errno;
    notes.numbers[2] = 1;  // it came back
    return 0;
  });
}

// The act works outside, and inside it ends the process, which tells the call's number.
void expectTrapped(
    int call, const std::function<long(int)>& act, const std::function<int()>& prepare = [] { return -1; }) {
  const Outcome control = attempt(Where::kOutside, act, prepare);
  EXPECT_EQ(control.notes.numbers[2], 1) << "the control came back";
  EXPECT_GE(control.notes.numbers[0], 0) << std::strerror(static_cast<int>(control.notes.numbers[1]));
  const Outcome outcome = attempt(Where::kInside, act, prepare);
  EXPECT_TRUE(outcome.trappedBy(call)) << "status " << outcome.exitStatus << " signal " << outcome.signal;
  EXPECT_EQ(outcome.notes.numbers[2], 0) << "it never came back";
}

int unixSocket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

sockaddr_un abstractName(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
  return address;
}

class FrontDenial : public testing::Test {
 protected:
  void SetUp() override { SKIP_IF_SANITIZED(); }
};

TEST_F(FrontDenial, CantOpenAFileOfItsOwnUser) {
  const std::string path = "/tmp/factionos-front-denial-" + std::to_string(getpid());
  expectTrapped(SYS_openat,
                [&path](int) { return syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDWR | O_CREAT, 0600); });
  unlink(path.c_str());
  expectTrapped(SYS_openat, [](int) { return syscall(SYS_openat, AT_FDCWD, "/etc/hostname", O_RDONLY); });
  expectTrapped(SYS_openat, [](int) { return syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY); });
}

TEST_F(FrontDenial, CantLookAroundOrChangeNames) {
  expectTrapped(SYS_readlinkat, [](int) {
    std::array<char, 64> target{};
    return syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", target.data(), target.size());
  });
  expectTrapped(SYS_getcwd, [](int) {
    std::array<char, 4096> path{};
    return syscall(SYS_getcwd, path.data(), path.size());
  });
  expectTrapped(SYS_memfd_create, [](int) { return syscall(SYS_memfd_create, "x", 0); });
}

TEST_F(FrontDenial, CantStartAProgramOrAProcessOrAThread) {
  const Outcome control = attempt(Where::kOutside, [](int) {
    char* none[] = {nullptr};
    return syscall(SYS_execve, "/bin/true", none, none);
  });
  EXPECT_EQ(control.exitStatus, 0);
  EXPECT_EQ(control.notes.numbers[2], 0) << "the control became another program";
  const Outcome outcome = attempt(Where::kInside, [](int) {
    char* none[] = {nullptr};
    return syscall(SYS_execve, "/bin/true", none, none);
  });
  EXPECT_TRUE(outcome.trappedBy(SYS_execve));
  expectTrapped(SYS_clone, [](int) {
    const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) _exit(0);
    return child;
  });
}

TEST_F(FrontDenial, CantMakeASocketOfAnyKind) {
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK}) {
    SCOPED_TRACE(family);
    const int type = family == AF_NETLINK ? SOCK_RAW : SOCK_STREAM;
    const auto act = [family, type](int) { return syscall(SYS_socket, family, type, 0); };
    EXPECT_TRUE(attempt(Where::kInside, act).trappedBy(SYS_socket));
    if (family != AF_INET6) {
      EXPECT_GE(attempt(Where::kOutside, act).notes.numbers[0], 0) << "the control";
    }
  }
  expectTrapped(SYS_socketpair, [](int) {
    std::array<int, 2> ends{};
    return syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends.data());
  });
}

TEST_F(FrontDenial, CantConnectOrBindOrListenOnASocketThatItWasHanded) {
  // The control connects to a listener that this test holds.
  const int listener = unixSocket();
  const std::string name = "factionos-front-denial-" + std::to_string(getpid());
  const sockaddr_un address = abstractName(name.c_str());
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  expectTrapped(
      SYS_connect, [&address](int socket) { return syscall(SYS_connect, socket, &address, sizeof address); },
      unixSocket);
  close(listener);
  const sockaddr_un own = abstractName((name + "-own").c_str());
  expectTrapped(
      SYS_bind, [&own](int socket) { return syscall(SYS_bind, socket, &own, sizeof own); }, unixSocket);
  const auto bound = [&own] {
    const int socket = unixSocket();
    return bind(socket, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 ? socket : -1;
  };
  expectTrapped(
      SYS_listen, [](int socket) { return syscall(SYS_listen, socket, 1); }, bound);
}

TEST_F(FrontDenial, CantSignalItsParentOrAnybodyElse) {
  // The victim is a child made before: one that it may signal outside. It ends when its maker's end of a pipe
  // closes.
  const auto victim = [](int& hold) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
      char byte = 0;
      close(ends[1]);
      _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    hold = ends[1];
    return child;
  };
  const auto signal = [](long call, pid_t target) {
    return call == SYS_tgkill ? syscall(call, target, target, 0) : syscall(call, target, 0);
  };
  for (const int call : {SYS_kill, SYS_tgkill, SYS_tkill}) {
    SCOPED_TRACE(call);
    const auto run = [&](Where where) {
      return inChild([&](Notes& notes) {
        sandbox::Policy policy = frontPolicy();
        const pid_t target = victim(policy.keep.emplace_back());
        if (where == Where::kInside) sandbox::enter(policy);
        notes.numbers[0] = signal(call, target);
        notes.numbers[2] = 1;
        return 0;
      });
    };
    const Outcome control = run(Where::kOutside);
    EXPECT_EQ(control.notes.numbers[0], 0);
    EXPECT_EQ(control.notes.numbers[2], 1);
    EXPECT_TRUE(run(Where::kInside).trappedBy(call));
  }
  const auto atParent = [parent = getpid(), &signal](int) { return signal(SYS_kill, parent); };
  EXPECT_TRUE(attempt(Where::kInside, atParent).trappedBy(SYS_kill)) << "its parent";
  expectTrapped(SYS_pidfd_open, [](int) { return syscall(SYS_pidfd_open, getpid(), 0); });
}

TEST_F(FrontDenial, AnEscapeKillsOutright) {
  for (const int call : {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_mount,
                         SYS_unshare, SYS_setns, SYS_bpf, SYS_keyctl, SYS_userfaultfd, SYS_perf_event_open}) {
    SCOPED_TRACE(sandbox::callName(call));
    const auto act = [call](int) { return syscall(call, 0, 0, 0, 0, 0, 0); };
    EXPECT_EQ(attempt(Where::kOutside, act).notes.numbers[2], 1) << "the control came back";
    const Outcome outcome = attempt(Where::kInside, act);
    EXPECT_EQ(outcome.signal, SIGSYS);
    EXPECT_EQ(outcome.notes.numbers[2], 0);
  }
}

TEST_F(FrontDenial, CantGainExecutableMemory) {
  expectTrapped(SYS_mmap, [](int) {
    return syscall(SYS_mmap, nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == -1
               ? -1L
               : 0L;
  });
  expectTrapped(SYS_mprotect, [](int) {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC);
  });
}

TEST_F(FrontDenial, CantBecomeDumpableOrUndoItsLimits) {
  expectTrapped(SYS_prctl, [](int) { return syscall(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1, 0, 0, 0); });
  expectTrapped(SYS_prlimit64, [](int) {
    rlimit limit{};
    return syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit);
  });
  expectTrapped(
      SYS_setuid, [](int user) { return syscall(SYS_setuid, user); },
      [] { return static_cast<int>(getuid()); });
}

TEST_F(FrontDenial, HoldsNoDescriptorButItsOwn) {
  const Outcome outcome = inChild([](Notes& notes) {
    const int secret = fcntl(open("/etc/hostname", O_RDONLY | O_CLOEXEC), F_DUPFD_CLOEXEC, 10);
    notes.numbers[0] = fcntl(secret, F_GETFD);
    sandbox::enter(frontPolicy());
    notes.numbers[1] = fcntl(secret, F_GETFD);
    notes.numbers[2] = errno;
    return 0;
  });
  EXPECT_EQ(outcome.exitStatus, 0);
  EXPECT_GE(outcome.notes.numbers[0], 0) << "the control";
  EXPECT_EQ(outcome.notes.numbers[1], -1);
  EXPECT_EQ(outcome.notes.numbers[2], EBADF);
}

TEST_F(FrontDenial, WhatItNeedsWorks) {
  const auto listening = [] {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return listen(socket, 1) == 0 ? socket : -1;
  };
  const Outcome outcome = attempt(
      Where::kInside,
      [](int socket) -> long {
        if (accept4(socket, nullptr, nullptr, SOCK_CLOEXEC) != -1 || errno != EAGAIN) return 1;
        if (fcntl(socket, F_DUPFD_CLOEXEC, 3) < 0) return 2;
        const int set = epoll_create1(EPOLL_CLOEXEC);
        epoll_event event{EPOLLIN, {}};
        if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, socket, &event) != 0) return 3;
        if (mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
          return 4;
        if (syscall(SYS_io_uring_setup, 1, nullptr) != -1 || errno != ENOSYS) return 5;
        return 0;
      },
      listening);
  EXPECT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[2], 1);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
}

}  // namespace
}  // namespace factionos::front
