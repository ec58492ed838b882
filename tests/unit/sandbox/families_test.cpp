// Families judged in user space, cell by cell: what each admits, and its neighbours that it must not.
#include "sandbox/families.h"

#include <array>
#include <cerrno>
#include <csignal>

#include <asm/termbits.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/relaxations.h"
#include "sandbox/seccomp_eval.h"
#include "sandbox/syscalls.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using Wide = std::uint64_t;
constexpr Wide kHighBit = Wide{1} << 32;  // beyond what the kernel reads of an int

Program allowing(Family family) {
  SeccompPolicy policy;
  policy.rules = {allow(std::move(family), "test")};
  return compile(policy);
}

Program denying(Family family) {
  SeccompPolicy policy;
  policy.unlisted = Verdict::allow();
  policy.rules = {refuse(std::move(family), EPERM, "test")};
  return compile(policy);
}

bool admits(const Program& program, int number, std::initializer_list<std::uint64_t> arguments) {
  const auto value = evaluate(program, callData(number, arguments));
  return value && verdictOf(*value) == Verdict::allow();
}

std::uint64_t wide(long value) {
  return static_cast<std::uint64_t>(value);
}

TEST(Families, EveryFamilyIsNamedAndCompilesAlone) {
  for (const Family& family : {families::base(),
                               families::readWrite(),
                               families::epollLoop(),
                               families::socketIo(),
                               families::signals(),
                               families::trapHandlerChange(),
                               families::threads(),
                               families::filesRead(),
                               families::filesWrite(),
                               families::sqliteFiles(),
                               families::listening(),
                               families::connecting(),
                               families::sockets({AF_UNIX}),
                               families::randomness(),
                               families::lockedMemory(),
                               families::processInfo(),
                               families::terminalIoctls(),
                               families::clone3(),
                               families::ioUring(),
                               families::tracing(),
                               families::mounting(),
                               families::namespaceCalls(),
                               families::cloneNamespaces(),
                               families::processes(),
                               families::executing(),
                               families::kernelSurface(),
                               families::administration(),
                               families::fileHandles(),
                               families::terminalInjection(),
                               families::fileSystemControls(),
                               families::personalities(),
                               families::setIdModes(),
                               families::openByStructure(),
                               families::memoryFiles(),
                               families::attributesByPath(),
                               families::fileNotification(),
                               families::socketsBut({}),
                               families::newerThanKnown(),
                               relaxed::executableMemory(),
                               relaxed::forking(),
                               relaxed::executing()}) {
    EXPECT_FALSE(family.name.empty());
    EXPECT_FALSE(family.calls.empty()) << family.name;
    EXPECT_FALSE(allowing(family).instructions.empty()) << family.name;
    EXPECT_LT(denying(family).instructions.size(), static_cast<std::size_t>(BPF_MAXINSNS)) << family.name;
  }
}

TEST(Families, BaseMapsNoExecutableMemory) {
  const Program program = allowing(families::base());
  for (const int number : {SYS_mmap, SYS_mprotect}) {
    EXPECT_TRUE(admits(program, number, {0, 4096, PROT_READ | PROT_WRITE}));
    EXPECT_TRUE(admits(program, number, {0, 4096, PROT_NONE}));
    EXPECT_FALSE(admits(program, number, {0, 4096, PROT_READ | PROT_EXEC}));
    EXPECT_FALSE(admits(program, number, {0, 4096, PROT_READ | PROT_EXEC | kHighBit}));
  }
}

TEST(Families, BaseSignalsItsOwnProcessAlone) {
  const Program program = allowing(families::base());
  const auto self = static_cast<std::uint64_t>(getpid());
  EXPECT_TRUE(admits(program, SYS_tgkill, {self, self, SIGABRT}));
  EXPECT_FALSE(admits(program, SYS_tgkill, {static_cast<std::uint64_t>(getppid()), 1, SIGKILL}));
  EXPECT_FALSE(admits(program, SYS_tgkill, {wide(-1), 1, SIGKILL}));
  EXPECT_FALSE(admits(program, SYS_kill, {self, SIGKILL}));
}

TEST(Families, WorkersCannotMakeSocketsOrSignalByFcntl) {
  SeccompPolicy policy = testing::workerPolicy().seccomp;
  const Program program = compile(policy);
  EXPECT_FALSE(admits(program, SYS_socket, {AF_UNIX, SOCK_STREAM, 0}));
  EXPECT_FALSE(admits(program, SYS_connect, {3}));
  EXPECT_FALSE(admits(program, SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}));
  EXPECT_TRUE(admits(program, SYS_fcntl, {3, F_GETFL}));
  EXPECT_FALSE(admits(program, SYS_fcntl, {3, F_SETOWN}));
  EXPECT_FALSE(admits(program, SYS_fcntl, {3, F_SETSIG}));
  EXPECT_FALSE(admits(program, SYS_fcntl, {3, F_NOTIFY}));
  EXPECT_FALSE(admits(program, SYS_execve, {}));
  EXPECT_FALSE(admits(program, SYS_kill, {1, 9}));
}

TEST(Families, SignalsTakeEveryNumberButSigsys) {
  SeccompPolicy policy;
  policy.rules = {kill(families::trapHandlerChange(), "test"), allow(families::signals(), "test")};
  const Program program = compile(policy);
  for (std::uint64_t number = 1; number <= 64; ++number) {
    EXPECT_EQ(admits(program, SYS_rt_sigaction, {number}), number != SIGSYS) << number;
  }
  for (const Wide number : {Wide{SIGSYS}, SIGSYS | kHighBit, SIGSYS | (Wide{1} << 63)}) {
    EXPECT_EQ(verdictOf(*evaluate(program, callData(SYS_rt_sigaction, {number}))), Verdict::killProcess())
        << number;
  }
  EXPECT_FALSE(admits(program, SYS_rt_sigaction, {65}));
}

TEST(Families, ThreadsAreNoProcessesAndNoNamespaces) {
  constexpr std::uint64_t kPthread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                     CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                                     CLONE_CHILD_CLEARTID;
  const Program program = allowing(families::threads());
  EXPECT_TRUE(admits(program, SYS_clone, {kPthread}));
  EXPECT_FALSE(admits(program, SYS_clone, {SIGCHLD}));
  EXPECT_FALSE(admits(program, SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}));
  EXPECT_FALSE(admits(program, SYS_clone, {kPthread & ~std::uint64_t{CLONE_THREAD}}));
  for (const Wide flag :
       {Wide{CLONE_NEWNS}, Wide{CLONE_NEWUSER}, Wide{CLONE_NEWPID}, Wide{CLONE_NEWNET}, Wide{CLONE_NEWIPC},
        Wide{CLONE_NEWUTS}, Wide{CLONE_NEWCGROUP}, Wide{CLONE_PTRACE}}) {
    EXPECT_FALSE(admits(program, SYS_clone, {kPthread | flag})) << flag;
  }
  EXPECT_FALSE(admits(program, SYS_clone3, {}));
}

TEST(Families, CloneNamespacesRefusesEachFlagAndNothingElse) {
  const Program program = denying(families::cloneNamespaces());
  EXPECT_TRUE(admits(program, SYS_clone, {SIGCHLD}));
  EXPECT_TRUE(admits(program, SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}));
  for (const Wide flag : {Wide{CLONE_NEWNS}, Wide{CLONE_NEWUSER}, Wide{CLONE_NEWPID}, Wide{CLONE_NEWNET},
                          Wide{CLONE_NEWIPC}, Wide{CLONE_NEWUTS}, Wide{CLONE_NEWCGROUP}}) {
    EXPECT_FALSE(admits(program, SYS_clone, {flag | SIGCHLD})) << flag;
    EXPECT_FALSE(admits(program, SYS_clone, {flag | SIGCHLD | kHighBit})) << flag;
  }
}

TEST(Families, P28_TerminalInjectionIsComparedOn32Bits) {
  const Program program = denying(families::terminalInjection());
  for (const std::uint64_t request : {std::uint64_t{TIOCSTI}, std::uint64_t{TIOCLINUX}}) {
    EXPECT_FALSE(admits(program, SYS_ioctl, {0, request}));
    for (unsigned bit = 32; bit < 64; ++bit) {
      EXPECT_FALSE(admits(program, SYS_ioctl, {0, request | (1ULL << bit)})) << bit;
    }
  }
  EXPECT_TRUE(admits(program, SYS_ioctl, {0, TCGETS}));
  EXPECT_TRUE(admits(program, SYS_ioctl, {0, TIOCGWINSZ}));
}

TEST(Families, AFileSystemMakesNoTreesByItsOwnCalls) {
  const Program program = denying(families::fileSystemControls());
  // BTRFS_IOC_SUBVOL_CREATE, _SNAP_CREATE_V2, _SNAP_DESTROY, FS_IOC_ADD_ and _REMOVE_ENCRYPTION_KEY,
  // _ENABLE_VERITY, BCH_IOCTL_SUBVOLUME_CREATE: as the kernel's headers have them.
  for (const std::uint64_t request : {0x5000940eULL, 0x50009417ULL, 0x5000940fULL, 0xc0506617ULL,
                                      0xc0406618ULL, 0x40806685ULL, 0x4028bc10ULL}) {
    EXPECT_FALSE(admits(program, SYS_ioctl, {0, request})) << request;
    EXPECT_FALSE(admits(program, SYS_ioctl, {0, request | (1ULL << 40)})) << request;
  }
  for (const std::uint64_t request :
       {std::uint64_t{FICLONE}, std::uint64_t{FICLONERANGE}, std::uint64_t{FIDEDUPERANGE},
        std::uint64_t{FS_IOC_GETFLAGS}, std::uint64_t{TCGETS}, std::uint64_t{FIONREAD}})
    EXPECT_TRUE(admits(program, SYS_ioctl, {0, request})) << request;
}

TEST(Families, PersonalitiesBut0AndAllOnesAreRefused) {
  const Program program = denying(families::personalities());
  EXPECT_TRUE(admits(program, SYS_personality, {0}));
  EXPECT_TRUE(admits(program, SYS_personality, {0xffffffff}));
  EXPECT_TRUE(admits(program, SYS_personality, {~0ULL}));
  for (unsigned bit = 0; bit < 32; ++bit) {
    EXPECT_FALSE(admits(program, SYS_personality, {1ULL << bit})) << bit;
    EXPECT_FALSE(admits(program, SYS_personality, {0xffffffffULL & ~(1ULL << bit)})) << bit;
  }
  EXPECT_FALSE(admits(program, SYS_personality, {0x0400000}));  // READ_IMPLIES_EXEC
  EXPECT_FALSE(admits(program, SYS_personality, {0x0040000}));  // ADDR_NO_RANDOMIZE
}

TEST(Families, SetIdModesAreRefusedWhereverAModeIsTaken) {
  const Program program = denying(families::setIdModes());
  const auto expect = [&program](bool admitted, Wide mode, Wide flags) {
    EXPECT_EQ(admits(program, SYS_chmod, {0, mode}), admitted) << mode;
    EXPECT_EQ(admits(program, SYS_fchmod, {0, mode}), admitted) << mode;
    EXPECT_EQ(admits(program, SYS_fchmodat, {0, 0, mode}), admitted) << mode;
    EXPECT_EQ(admits(program, calls::kFchmodat2, {0, 0, mode, 0}), admitted) << mode;
    EXPECT_EQ(admits(program, SYS_creat, {0, mode}), admitted) << mode;
    EXPECT_EQ(admits(program, SYS_mknod, {0, mode, 0}), admitted) << mode;
    EXPECT_EQ(admits(program, SYS_mknodat, {0, 0, mode, 0}), admitted) << mode;
    EXPECT_EQ(admits(program, SYS_open, {0, flags, mode}), admitted) << mode;
    EXPECT_EQ(admits(program, SYS_openat, {0, 0, flags, mode}), admitted) << mode;
  };
  for (const Wide flags : {Wide{O_CREAT | O_WRONLY}, Wide{O_TMPFILE | O_RDWR}, O_CREAT | kHighBit}) {
    for (const Wide mode : {Wide{04755}, Wide{02755}, Wide{06000}, Wide{0104755}, 04000 | kHighBit}) {
      expect(false, mode, flags);
    }
    for (const Wide mode : {Wide{0}, Wide{0755}, Wide{01777}, Wide{0100644}}) expect(true, mode, flags);
  }
  // What does not make a file leaves any number there.
  EXPECT_TRUE(admits(program, SYS_openat, {0, 0, O_RDONLY, 07777}));
  EXPECT_TRUE(admits(program, SYS_open, {0, O_DIRECTORY, 07777}));
}

TEST(Families, P23_SocketsButTheListedAreRefusedWhateverTheHighBitsSay) {
  const Program none = denying(families::socketsBut({}));
  for (std::uint64_t family = 0; family < 300; ++family) {
    for (const Wide high : {Wide{0}, kHighBit, Wide{1} << 63}) {
      EXPECT_FALSE(admits(none, SYS_socket, {family | high, SOCK_STREAM, 0})) << family;
      EXPECT_EQ(admits(none, SYS_socketpair, {family | high, SOCK_STREAM, 0}), family == AF_UNIX) << family;
    }
  }
  const Program internet = denying(families::socketsBut({AF_INET, AF_INET6}));
  for (std::uint64_t family = 0; family < 300; ++family) {
    const bool listed = family == AF_INET || family == AF_INET6;
    EXPECT_EQ(admits(internet, SYS_socket, {family, SOCK_STREAM | SOCK_CLOEXEC, 0}), listed) << family;
  }
  EXPECT_FALSE(admits(internet, SYS_socket, {wide(-1), SOCK_STREAM, 0}));
}

// The same cells for a deny-list and an allow-list that name the same families.
class InternetSockets : public ::testing::TestWithParam<bool> {
 protected:
  Program program_ = GetParam() ? denying(families::socketsBut({AF_INET, AF_INET6, AF_NETLINK}))
                                : allowing(families::sockets({AF_INET, AF_INET6, AF_NETLINK}));
};
INSTANTIATE_TEST_SUITE_P(DenyAndAllow, InternetSockets, ::testing::Bool());

TEST_P(InternetSockets, P24_NoRawNoPingNoMptcp) {
  constexpr std::uint64_t kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  for (const Wide family : {Wide{AF_INET}, Wide{AF_INET6}}) {
    EXPECT_TRUE(admits(program_, SYS_socket, {family, SOCK_STREAM | kFlags, 0}));
    EXPECT_TRUE(admits(program_, SYS_socket, {family, SOCK_STREAM, IPPROTO_TCP}));
    EXPECT_TRUE(admits(program_, SYS_socket, {family, SOCK_DGRAM | kFlags, IPPROTO_UDP}));
    for (std::uint64_t type = 0; type < 16; ++type) {
      const bool usual = type == SOCK_STREAM || type == SOCK_DGRAM;
      EXPECT_EQ(admits(program_, SYS_socket, {family, type | kFlags, 0}), usual) << type;
      EXPECT_EQ(admits(program_, SYS_socket, {family, type | kHighBit, 0}), usual) << type;
    }
    for (std::uint64_t protocol = 1; protocol < 600; ++protocol) {
      for (const Wide high : {Wide{0}, kHighBit}) {
        EXPECT_EQ(
            admits(program_, SYS_socket, {family, SOCK_STREAM, protocol | high}) && protocol != IPPROTO_UDP,
            protocol == IPPROTO_TCP)
            << protocol;
        EXPECT_EQ(
            admits(program_, SYS_socket, {family, SOCK_DGRAM, protocol | high}) && protocol != IPPROTO_TCP,
            protocol == IPPROTO_UDP)
            << protocol;
      }
    }
  }
}

TEST_P(InternetSockets, P23_NetlinkIsRouteAlone) {
  EXPECT_TRUE(admits(program_, SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}));
  for (std::uint64_t protocol = 1; protocol < 64; ++protocol) {
    EXPECT_FALSE(admits(program_, SYS_socket, {AF_NETLINK, SOCK_RAW, protocol})) << protocol;
    EXPECT_FALSE(admits(program_, SYS_socket, {AF_NETLINK, SOCK_RAW, protocol | kHighBit})) << protocol;
  }
}

TEST(Families, CallsThatNobodyJudgedAreRefused) {
  const Program program = denying(families::newerThanKnown());
  EXPECT_TRUE(admits(program, calls::kLastKnown, {}));
  for (int number = calls::kLastKnown + 1; number < 640; ++number) {
    EXPECT_FALSE(admits(program, number, {})) << number;
  }
}

TEST(Families, ADenyListLeavesWhatBuildsNeed) {
  const Program program = compile(testing::commandPolicy().seccomp);
  for (const int number : {SYS_execve,
                           SYS_wait4,
                           SYS_kill,
                           SYS_openat,
                           SYS_renameat2,
                           SYS_ftruncate,
                           SYS_memfd_create,
                           SYS_inotify_init1,
                           SYS_setpriority,
                           SYS_sched_setaffinity,
                           SYS_membarrier,
                           SYS_seccomp,
                           SYS_landlock_create_ruleset,
                           SYS_fanotify_init,
                           SYS_pidfd_open,
                           SYS_close_range,
                           SYS_mlock,
                           SYS_shmget,
                           SYS_msgget,
                           SYS_copy_file_range,
                           SYS_faccessat2,
                           SYS_setsid,
                           SYS_chmod}) {
    EXPECT_TRUE(admits(program, number, {})) << callName(number);
  }
  EXPECT_TRUE(admits(program, SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}));
  EXPECT_TRUE(admits(program, SYS_clone, {SIGCHLD}));
  EXPECT_TRUE(admits(program, SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC}));
}

TEST(Families, ADenyListRefusesEveryEscape) {
  const Program program = compile(testing::commandPolicy().seccomp);
  for (const int number : {SYS_mount,
                           SYS_umount2,
                           SYS_pivot_root,
                           SYS_chroot,
                           SYS_open_tree,
                           SYS_move_mount,
                           SYS_fsopen,
                           SYS_fsconfig,
                           SYS_fsmount,
                           SYS_fspick,
                           SYS_mount_setattr,
                           467,
                           457,
                           458,
                           SYS_ptrace,
                           SYS_process_vm_readv,
                           SYS_process_vm_writev,
                           SYS_pidfd_getfd,
                           SYS_process_madvise,
                           SYS_kcmp,
                           SYS_bpf,
                           SYS_perf_event_open,
                           SYS_userfaultfd,
                           SYS_keyctl,
                           SYS_add_key,
                           SYS_request_key,
                           SYS_kexec_load,
                           SYS_kexec_file_load,
                           SYS_init_module,
                           SYS_finit_module,
                           SYS_delete_module,
                           SYS_unshare,
                           SYS_setns,
                           SYS_clone3,
                           SYS_io_uring_setup,
                           SYS_io_uring_enter,
                           SYS_io_uring_register,
                           SYS_reboot,
                           SYS_swapon,
                           SYS_swapoff,
                           SYS_acct,
                           SYS_quotactl,
                           SYS_quotactl_fd,
                           SYS_syslog,
                           SYS_open_by_handle_at,
                           SYS_name_to_handle_at,
                           SYS_settimeofday,
                           SYS_clock_settime,
                           SYS_sethostname}) {
    EXPECT_FALSE(admits(program, number, {})) << callName(number);
  }
}

}  // namespace
}  // namespace factionos::sandbox
