// A deny-list on the real kernel. The filter answers with an errno that nothing else gives, so that a
// kernel's own refusal is not taken for ours; the control makes the same call without the filter.
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/families.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using testing::commandPolicy;
using testing::inChild;
using testing::Notes;
using testing::Outcome;

constexpr int kSentinel = ENOMEDIUM;

Policy sentinelPolicy() {
  Policy policy = commandPolicy();
  for (SeccompRule& rule : policy.seccomp.rules) rule.verdict = Verdict::fail(kSentinel);
  policy.seccomp.foreignEntry = Verdict::fail(kSentinel);
  return policy;
}

enum class Filtered { kNo, kYes };

// The errno of one act, without and with the filter: 0 if it works.
int errnoOf(Filtered filtered, const std::function<long()>& act) {
  const Outcome outcome = inChild([filtered, &act](Notes& notes) {
    if (filtered == Filtered::kYes) enter(sentinelPolicy());
    errno = 0;
    notes.numbers[0] = act() < 0 ? errno : 0;
    return 0;
  });
  EXPECT_EQ(outcome.exitStatus, 0) << "signal " << outcome.signal;
  return static_cast<int>(outcome.notes.numbers[0]);
}

void expectDenied(const std::string& name, const std::function<long()>& act) {
  EXPECT_NE(errnoOf(Filtered::kNo, act), kSentinel) << "control of " << name;
  EXPECT_EQ(errnoOf(Filtered::kYes, act), kSentinel) << name;
}

void expectAllowed(const std::string& name, const std::function<long()>& act) {
  EXPECT_EQ(errnoOf(Filtered::kNo, act), 0) << "control of " << name;
  EXPECT_EQ(errnoOf(Filtered::kYes, act), 0) << name;
}

TEST(CommandDenial, EveryCallOfTheDeniedFamiliesIsRefusedByTheFilter) {
  SKIP_IF_SANITIZED();
  for (const Family& family : {families::mounting(), families::kernelSurface(), families::namespaceCalls(),
                               families::clone3(), families::ioUring(), families::administration(),
                               families::fileHandles(), families::newerThanKnown()}) {
    const auto all = [&family](Notes& notes) {
      for (const Call& call : family.calls) {
        if (call.number < 0) continue;
        errno = 0;
        syscall(call.number, 0L, 0L, 0L, 0L, 0L, 0L);
        ++notes.numbers[errno == kSentinel ? 0 : 1];
      }
      return 0;
    };
    const Outcome control = inChild(all);
    const Outcome filtered = inChild([&all](Notes& notes) {
      enter(sentinelPolicy());
      return all(notes);
    });
    EXPECT_EQ(control.notes.numbers[0], 0) << family.name;
    EXPECT_EQ(filtered.exitStatus, 0) << family.name;
    EXPECT_EQ(filtered.notes.numbers[1], 0) << family.name;
    EXPECT_GT(filtered.notes.numbers[0], 0) << family.name;
  }
}

TEST(CommandDenial, P26_TracingAndReadingAnotherIsRefused) {
  SKIP_IF_SANITIZED();
  const pid_t sibling = getpid();
  expectDenied("ptrace attach", [sibling] { return syscall(SYS_ptrace, PTRACE_SEIZE, sibling, 0, 0); });
  expectDenied("process_vm_readv",
               [sibling] { return syscall(SYS_process_vm_readv, sibling, 0, 0, 0, 0, 0); });
  expectDenied("process_vm_writev",
               [sibling] { return syscall(SYS_process_vm_writev, sibling, 0, 0, 0, 0, 0); });
  expectDenied("pidfd_getfd", [] { return syscall(SYS_pidfd_getfd, -1, 0, 0); });
  expectDenied("kcmp", [sibling] { return syscall(SYS_kcmp, sibling, sibling, 0, 0, 0); });
}

// A process of the same user as the sandboxed one, which ends when its line does: its parent may no longer
// signal it.
class Sibling {
 public:
  Sibling() : line_(makePipe()) {
    pid_ = fork();
    if (pid_ != 0) return;
    line_.write.reset();
    char letter = 0;
    while (read(line_.read.get(), &letter, 1) < 0) {
    }
    _exit(0);
  }
  ~Sibling() {
    line_.write.reset();
    waitpid(pid_, nullptr, 0);
  }
  Sibling(const Sibling&) = delete;
  Sibling& operator=(const Sibling&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int line() const { return line_.write.get(); }

 private:
  Pipe line_;
  pid_t pid_ = -1;
};

TEST(CommandDenial, P26_ProcOfASiblingIsClosedByTheLandlockDomain) {
  const auto act = [](Filtered filtered) {
    return [filtered](Notes& notes) {
      const Sibling sibling;
      const std::string base = "/proc/" + std::to_string(sibling.pid());
      Policy policy = commandPolicy();
      policy.keep.push_back(sibling.line());
      if (filtered == Filtered::kYes) enter(policy);
      int at = 0;
      for (const char* const name : {"/mem", "/environ", "/fd/0"}) {
        const Fd file(open((base + name).c_str(), O_RDONLY | O_CLOEXEC));
        notes.numbers[static_cast<std::size_t>(at++)] = file ? 0 : errno;
      }
      return 0;
    };
  };
  const Outcome control = inChild(act(Filtered::kNo));
  const Outcome filtered = inChild(act(Filtered::kYes));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(control.notes.numbers[i], 0) << i;
    EXPECT_EQ(filtered.notes.numbers[i], EACCES) << i;
  }
}

TEST(CommandDenial, NoNewNamespaceByAnyWay) {
  SKIP_IF_SANITIZED();
  const auto cloneWith = [](long flags) {
    return [flags] {
      const long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
      if (child == 0) _exit(0);
      if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
      return child;
    };
  };
  expectAllowed("fork", cloneWith(0));
  for (const long flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS,
                          CLONE_NEWCGROUP}) {
    expectDenied("clone " + std::to_string(flag), cloneWith(flag));
    expectDenied("clone with high bits", cloneWith(flag | (1L << 40)));
  }
  expectDenied("unshare", [] { return unshare(CLONE_NEWUSER); });
  expectDenied("setns", [] { return setns(-1, 0); });
}

TEST(CommandDenial, P23_SocketFamiliesThatNobodyNeedsAreRefused) {
  SKIP_IF_SANITIZED();
  for (const int family : {AF_PACKET, AF_VSOCK, AF_ALG, AF_NETLINK, AF_INET, AF_INET6, AF_UNIX, AF_BLUETOOTH,
                           AF_CAN, AF_TIPC, AF_KEY, AF_RDS, AF_XDP, AF_QIPCRTR}) {
    expectDenied("family " + std::to_string(family),
                 [family] { return socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0); });
    expectDenied("family with high bits", [family] {
      return syscall(SYS_socket, static_cast<long>(family) | (1L << 32), SOCK_STREAM, 0);
    });
  }
  expectAllowed("socketpair", [] {
    int pair[2];
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
  });
}

// The oracle is the listener: what reaches it, not what the sender was told.
TEST(CommandDenial, P24_NoPacketReachesAListener) {
  SKIP_IF_SANITIZED();
  const Fd listener(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto sendOne = [address] {
    const Fd sender(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!sender) return -1L;
    return static_cast<long>(
        sendto(sender.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  };
  const auto arrived = [&listener] {
    char letter = 0;
    return recv(listener.get(), &letter, 1, MSG_DONTWAIT) == 1;
  };
  EXPECT_EQ(errnoOf(Filtered::kYes, sendOne), kSentinel);
  EXPECT_FALSE(arrived());
  EXPECT_EQ(errnoOf(Filtered::kNo, sendOne), 0);
  EXPECT_TRUE(arrived());

  expectDenied("ping", [] { return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP); });
  expectDenied("MPTCP", [] { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 262); });
}

// With the internet allowed, what stays refused.
TEST(CommandDenial, P24_AFullNetworkIsStillTcpAndUdpAlone) {
  SKIP_IF_SANITIZED();
  const auto run = [](int family, int type, int protocol) {
    return inChild([family, type, protocol](Notes& notes) {
             Policy policy = commandPolicy();
             std::erase_if(policy.seccomp.rules,
                           [](const SeccompRule& rule) { return rule.family.name == "socketsBut"; });
             policy.seccomp.rules.push_back(
                 refuse(families::socketsBut({AF_INET, AF_INET6, AF_NETLINK}), kSentinel, "test"));
             enter(policy);
             const Fd made(socket(family, type, protocol));
             notes.numbers[0] = made ? 0 : errno;
             return 0;
           })
        .notes.numbers[0];
  };
  EXPECT_EQ(run(AF_INET, SOCK_STREAM, 0), 0);
  EXPECT_EQ(run(AF_INET, SOCK_DGRAM, 0), 0);
  EXPECT_EQ(run(AF_NETLINK, SOCK_RAW, 0), 0);
  EXPECT_EQ(run(AF_NETLINK, SOCK_RAW, 9), kSentinel);
  EXPECT_EQ(run(AF_INET, SOCK_RAW, IPPROTO_ICMP), kSentinel);
  EXPECT_EQ(run(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), kSentinel);
  EXPECT_EQ(run(AF_INET, SOCK_STREAM, 262), kSentinel);
  EXPECT_EQ(run(AF_INET, SOCK_SEQPACKET, 132), kSentinel);
  EXPECT_EQ(run(AF_UNIX, SOCK_STREAM, 0), kSentinel);
  EXPECT_EQ(run(AF_PACKET, SOCK_RAW, 0), kSentinel);
}

// A terminal of its own, controlled by the calling process. Gives the terminal's descriptor.
int takeTerminal(Fd& controller) {
  controller.reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!controller || grantpt(controller.get()) != 0 || unlockpt(controller.get()) != 0) return -1;
  char name[64];
  if (ptsname_r(controller.get(), name, sizeof name) != 0) return -1;
  if (setsid() < 0) return -1;
  const int terminal = open(name, O_RDWR | O_CLOEXEC);
  ioctl(terminal, TIOCSCTTY, 0);
  return terminal;
}

TEST(CommandDenial, P28_NothingIsTypedIntoTheTerminal) {
  SKIP_IF_SANITIZED();
  const auto act = [](Filtered filtered, long request) {
    return inChild([filtered, request](Notes& notes) {
      std::signal(SIGHUP, SIG_IGN);  // closing the controller hangs up
      Fd controller;
      const int terminal = takeTerminal(controller);
      if (terminal < 0) return 1;
      if (filtered == Filtered::kYes) {
        Policy policy = sentinelPolicy();
        policy.keep.insert(policy.keep.end(), {terminal, controller.get()});
        enter(policy);
      }
      const char letter = '\n';
      errno = 0;
      notes.numbers[0] = syscall(SYS_ioctl, terminal, request, &letter) == 0 ? 0 : errno;
      pollfd waiting{terminal, POLLIN, 0};
      notes.numbers[1] = poll(&waiting, 1, 0);
      return 0;
    });
  };
  const Outcome control = act(Filtered::kNo, TIOCSTI);
  ASSERT_EQ(control.exitStatus, 0);
  EXPECT_TRUE(control.notes.numbers[0] == 0 || control.notes.numbers[0] == EIO) << control.notes.numbers[0];
  if (control.notes.numbers[0] == 0) {
    EXPECT_EQ(control.notes.numbers[1], 1) << "the control types";
  }
  for (const long request : {static_cast<long>(TIOCSTI), static_cast<long>(TIOCSTI) | (1L << 32),
                             static_cast<long>(TIOCSTI) | (1L << 62), static_cast<long>(TIOCLINUX)}) {
    const Outcome filtered = act(Filtered::kYes, request);
    EXPECT_EQ(filtered.exitStatus, 0);
    EXPECT_EQ(filtered.notes.numbers[0], kSentinel) << request;
    EXPECT_EQ(filtered.notes.numbers[1], 0) << request;
  }
}

TEST(CommandDenial, PersonalityMayOnlyBeAsked) {
  SKIP_IF_SANITIZED();
  expectAllowed("ask", [] { return syscall(SYS_personality, 0xffffffffL); });
  expectDenied("READ_IMPLIES_EXEC", [] { return syscall(SYS_personality, 0x0400000L); });
}

// What is denied stays denied for whatever the command starts.
TEST(CommandDenial, AShellAndItsChildrenWorkAndAreHeld) {
  SKIP_IF_SANITIZED();
  const Outcome outcome = inChild([](Notes&) {
    enter(commandPolicy());
    execl("/bin/sh", "sh", "-c",
          "x=$(echo a | cat) && [ \"$x\" = a ] && (exec 3</dev/zero; head -c 3 <&3 >/dev/null) && "
          "! unshare -U true 2>/dev/null && grep -q '^Seccomp:.2$' /proc/self/status && "
          "grep -q '^NoNewPrivs:.1$' /proc/self/status",
          nullptr);
    return 1;
  });
  EXPECT_EQ(outcome.exitStatus, 0);
}

}  // namespace
}  // namespace factionos::sandbox
