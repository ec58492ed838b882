#include "sandbox/families.h"

#include <csignal>

#include <asm/termbits.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "sandbox/relaxations.h"
#include "sandbox/syscalls.h"

namespace factionos::sandbox {
namespace {

constexpr std::uint64_t kNamespaceFlags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr std::uint64_t kThreadFlags =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
constexpr int kOpenFileLocks[] = {36, 37, 38};      // F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW
constexpr std::uint32_t kNameMapping = 0x53564d41;  // PR_SET_VMA

Family plain(std::string_view name, std::initializer_list<int> numbers) {
  Family family{name, {}};
  for (const int number : numbers) family.calls.push_back({number, {}});
  return family;
}

// The same call once for each value of one 32-bit argument.
template <typename Values>
void addEach(Family& family, int number, unsigned argument, const Values& values) {
  for (const auto value : values) {
    family.calls.push_back({number, {is32(argument, static_cast<std::uint32_t>(value))}});
  }
}

void addBlocks(Family& family, int number, const std::vector<ArgumentTest>& blocks) {
  for (const ArgumentTest& block : blocks) family.calls.push_back({number, {block}});
}

void addFcntl(Family& family, std::initializer_list<int> commands) {
  addEach(family, SCMP_SYS(fcntl), 1, commands);
}

void addIoctl(Family& family, std::initializer_list<unsigned long> requests) {
  addEach(family, SCMP_SYS(ioctl), 1, requests);
}

}  // namespace

namespace families {

Family base() {
  Family family = plain("base", {SCMP_SYS(brk),
                                 SCMP_SYS(munmap),
                                 SCMP_SYS(mremap),
                                 SCMP_SYS(madvise),
                                 SCMP_SYS(clock_gettime),
                                 SCMP_SYS(clock_getres),
                                 SCMP_SYS(clock_nanosleep),
                                 SCMP_SYS(nanosleep),
                                 SCMP_SYS(gettimeofday),
                                 SCMP_SYS(time),
                                 SCMP_SYS(futex),
                                 calls::kFutexWaitv,
                                 SCMP_SYS(sched_yield),
                                 SCMP_SYS(restart_syscall),
                                 SCMP_SYS(rseq),
                                 SCMP_SYS(set_robust_list),
                                 SCMP_SYS(get_robust_list),
                                 SCMP_SYS(exit),
                                 SCMP_SYS(exit_group),
                                 SCMP_SYS(gettid),
                                 SCMP_SYS(getpid)});
  family.calls.push_back({SCMP_SYS(mmap), {masked(2, PROT_EXEC, 0)}});
  family.calls.push_back({SCMP_SYS(mprotect), {masked(2, PROT_EXEC, 0)}});
  family.calls.push_back({SCMP_SYS(tgkill), {isOwnProcess(0)}});
  family.calls.push_back({SCMP_SYS(prctl), {is32(0, kNameMapping)}});
  return family;
}

Family readWrite() {
  Family family = plain("readWrite", {SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev),
                                      SCMP_SYS(close), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
                                      SCMP_SYS(statx), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3)});
  addFcntl(family, {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC});
  return family;
}

Family epollLoop() {
  Family family =
      plain("epollLoop", {SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
                          SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(eventfd2), SCMP_SYS(pipe2),
                          SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6),
                          SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime)});
  addIoctl(family, {FIONBIO, FIOCLEX, FIONREAD});
  return family;
}

Family socketIo() {
  return plain("socketIo", {SCMP_SYS(sendmsg), SCMP_SYS(sendmmsg), SCMP_SYS(recvmsg), SCMP_SYS(recvmmsg),
                            SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(shutdown), SCMP_SYS(getsockname),
                            SCMP_SYS(getpeername), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt)});
}

Family signals() {
  Family family = plain("signals", {SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
                                    SCMP_SYS(rt_sigtimedwait), SCMP_SYS(rt_sigpending),
                                    SCMP_SYS(rt_sigsuspend), SCMP_SYS(sigaltstack), SCMP_SYS(signalfd4)});
  // Every signal but SIGSYS, 1 to 64.
  addBlocks(family, SCMP_SYS(rt_sigaction), rangeBlocks(0, 1, SIGSYS - 1, 32));
  addBlocks(family, SCMP_SYS(rt_sigaction), rangeBlocks(0, SIGSYS + 1, 64, 32));
  return family;
}

Family trapHandlerChange() {
  return {"trapHandlerChange", {{SCMP_SYS(rt_sigaction), {is32(0, SIGSYS)}}}};
}

Family threads() {
  Family family =
      plain("threads", {SCMP_SYS(set_tid_address), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_setaffinity),
                        SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler)});
  family.calls.push_back(
      {SCMP_SYS(clone),
       {masked(0, kThreadFlags | kNamespaceFlags | CLONE_VFORK | CLONE_PTRACE, kThreadFlags)}});
  family.calls.push_back({SCMP_SYS(prctl), {is32(0, PR_SET_NAME)}});
  return family;
}

Family filesRead() {
  return plain("filesRead",
               {SCMP_SYS(openat),    SCMP_SYS(openat2),    SCMP_SYS(open),      SCMP_SYS(newfstatat),
                SCMP_SYS(stat),      SCMP_SYS(lstat),      SCMP_SYS(statx),     SCMP_SYS(readlinkat),
                SCMP_SYS(readlink),  SCMP_SYS(getdents64), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
                SCMP_SYS(access),    SCMP_SYS(statfs),     SCMP_SYS(fstatfs),   SCMP_SYS(getcwd),
                SCMP_SYS(fadvise64), SCMP_SYS(pread64),    SCMP_SYS(preadv),    SCMP_SYS(preadv2)});
}

Family filesWrite() {
  return plain("filesWrite", {SCMP_SYS(mkdirat),   SCMP_SYS(mkdir),           SCMP_SYS(unlinkat),
                              SCMP_SYS(unlink),    SCMP_SYS(rmdir),           SCMP_SYS(renameat),
                              SCMP_SYS(renameat2), SCMP_SYS(rename),          SCMP_SYS(linkat),
                              SCMP_SYS(link),      SCMP_SYS(symlinkat),       SCMP_SYS(symlink),
                              SCMP_SYS(ftruncate), SCMP_SYS(truncate),        SCMP_SYS(fchmod),
                              SCMP_SYS(fchmodat),  calls::kFchmodat2,         SCMP_SYS(utimensat),
                              SCMP_SYS(fallocate), SCMP_SYS(copy_file_range), SCMP_SYS(pwrite64),
                              SCMP_SYS(pwritev),   SCMP_SYS(pwritev2),        SCMP_SYS(fsync),
                              SCMP_SYS(fdatasync), SCMP_SYS(sync_file_range), SCMP_SYS(umask),
                              SCMP_SYS(flock)});
}

Family sqliteFiles() {
  Family family =
      plain("sqliteFiles",
            {SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(ftruncate),
             SCMP_SYS(fallocate), SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(fchmod), SCMP_SYS(fchown),
             SCMP_SYS(geteuid), SCMP_SYS(utimensat), SCMP_SYS(mkdir), SCMP_SYS(mkdirat)});
  addFcntl(family, {F_GETLK, F_SETLK, F_SETLKW});
  addEach(family, SCMP_SYS(fcntl), 1, kOpenFileLocks);
  return family;
}

Family listening() {
  return plain("listening", {SCMP_SYS(accept4), SCMP_SYS(accept), SCMP_SYS(listen), SCMP_SYS(bind),
                             SCMP_SYS(getsockname), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt)});
}

Family connecting() {
  return plain("connecting", {SCMP_SYS(connect)});
}

Family randomness() {
  return plain("randomness", {SCMP_SYS(getrandom)});
}

Family lockedMemory() {
  return plain("lockedMemory", {SCMP_SYS(mlock), SCMP_SYS(mlock2), SCMP_SYS(munlock)});
}

Family processInfo() {
  Family family =
      plain("processInfo",
            {SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
             SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getpgrp), SCMP_SYS(getpgid), SCMP_SYS(getsid),
             SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(getrusage), SCMP_SYS(times), SCMP_SYS(getrlimit),
             SCMP_SYS(getpriority), SCMP_SYS(getcpu)});
  family.calls.push_back({SCMP_SYS(prlimit64), {is64(2, 0)}});
  addEach(family, SCMP_SYS(prctl), 0, std::initializer_list<int>{PR_GET_NAME, PR_SET_NAME, PR_GET_DUMPABLE});
  return family;
}

Family terminalIoctls() {
  Family family{"terminalIoctls", {}};
  addIoctl(family, {TCGETS, TCGETS2, TIOCGWINSZ, TIOCSWINSZ, TIOCGPTN, TIOCGPGRP, TIOCOUTQ, FIONREAD});
  return family;
}

Family clone3() {
  return plain("clone3", {SCMP_SYS(clone3)});
}

Family ioUring() {
  return plain("ioUring", {SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register)});
}

Family tracing() {
  return plain("tracing", {SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
                           SCMP_SYS(process_madvise), SCMP_SYS(process_mrelease), SCMP_SYS(pidfd_getfd),
                           SCMP_SYS(kcmp)});
}

Family mounting() {
  return plain("mounting", {SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
                            SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(fsopen), SCMP_SYS(fsconfig),
                            SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
                            calls::kOpenTreeAttr, calls::kStatmount, calls::kListmount});
}

Family namespaceCalls() {
  return plain("namespaceCalls", {SCMP_SYS(unshare), SCMP_SYS(setns)});
}

Family cloneNamespaces() {
  Family family{"cloneNamespaces", {}};
  for (std::uint64_t bit = 1; bit <= kNamespaceFlags; bit <<= 1) {
    if ((kNamespaceFlags & bit) != 0) family.calls.push_back({SCMP_SYS(clone), {masked(0, bit, bit)}});
  }
  return family;
}

Family processes() {
  Family family = plain("processes", {SCMP_SYS(fork), SCMP_SYS(vfork)});
  family.calls.push_back({SCMP_SYS(clone), {masked(0, CLONE_THREAD | kNamespaceFlags, 0)}});
  return family;
}

Family executing() {
  return plain("executing", {SCMP_SYS(execve), SCMP_SYS(execveat)});
}

Family kernelSurface() {
  return plain(
      "kernelSurface",
      {SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(keyctl), SCMP_SYS(add_key),
       SCMP_SYS(request_key), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(init_module),
       SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(create_module), SCMP_SYS(lookup_dcookie)});
}

Family administration() {
  return plain(
      "administration",
      {SCMP_SYS(reboot),     SCMP_SYS(swapon),       SCMP_SYS(swapoff),       SCMP_SYS(acct),
       SCMP_SYS(quotactl),   SCMP_SYS(quotactl_fd),  SCMP_SYS(syslog),        SCMP_SYS(iopl),
       SCMP_SYS(ioperm),     SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime),
       SCMP_SYS(adjtimex),   SCMP_SYS(sethostname),  SCMP_SYS(setdomainname), SCMP_SYS(vhangup),
       SCMP_SYS(nfsservctl), SCMP_SYS(uselib),       SCMP_SYS(sysfs),         SCMP_SYS(_sysctl),
       SCMP_SYS(ustat),      SCMP_SYS(modify_ldt)});
}

Family fileHandles() {
  return plain("fileHandles", {SCMP_SYS(open_by_handle_at), SCMP_SYS(name_to_handle_at)});
}

Family terminalInjection() {
  Family family{"terminalInjection", {}};
  addIoctl(family, {TIOCSTI, TIOCLINUX});
  return family;
}

// Whatever the size of their arguments is said to be.
Family fileSystemControls() {
  constexpr std::uint64_t kTypeAndNumber = 0xffff;
  constexpr std::uint64_t kType = 0xff00;
  Family family{"fileSystemControls", {{SCMP_SYS(ioctl), {masked(1, kType, 0xbc00)}}}};  // bcachefs: all
  // include/uapi/linux/btrfs.h: SNAP_CREATE, SUBVOL_CREATE, SNAP_DESTROY, their V2, SUBVOL_SETFLAGS,
  // SET_RECEIVED_SUBVOL. fscrypt.h: SET_ENCRYPTION_POLICY, ADD and REMOVE_ENCRYPTION_KEY, the latter for all
  // users. fsverity.h: ENABLE_VERITY.
  constexpr std::uint64_t kEach[] = {0x9401, 0x940e, 0x940f, 0x9417, 0x9418, 0x941a, 0x9425,
                                     0x943f, 0x6613, 0x6617, 0x6618, 0x6619, 0x6685};
  for (const std::uint64_t each : kEach) {
    family.calls.push_back({SCMP_SYS(ioctl), {masked(1, kTypeAndNumber, each)}});
  }
  return family;
}

Family personalities() {
  Family family{"personalities", {}};
  // A value is neither 0 nor all ones exactly if some bit differs from the highest one.
  constexpr std::uint64_t kHighest = 1ULL << 31;
  for (unsigned bit = 0; bit < 31; ++bit) {
    const std::uint64_t one = 1ULL << bit;
    family.calls.push_back({SCMP_SYS(personality), {masked(0, kHighest | one, one)}});
    family.calls.push_back({SCMP_SYS(personality), {masked(0, kHighest | one, kHighest)}});
  }
  return family;
}

Family newerThanKnown() {
  Family family{"newerThanKnown", {}};
  for (int number = calls::kLastKnown + 1; number < 640; ++number) family.calls.push_back({number, {}});
  return family;
}

#ifdef FACTIONOS_SANITIZED
Family sanitizerRuntime() {
  Family family =
      plain("sanitizerRuntime",
            {SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(mmap),
             SCMP_SYS(mprotect), SCMP_SYS(sigaltstack), SCMP_SYS(sched_getaffinity), SCMP_SYS(mincore),
             SCMP_SYS(getrlimit), SCMP_SYS(prlimit64), SCMP_SYS(getppid), SCMP_SYS(sysinfo),
             SCMP_SYS(getrusage), SCMP_SYS(pipe2), SCMP_SYS(getrandom)});
  addEach(family, SCMP_SYS(prctl), 0,
          std::initializer_list<int>{PR_SET_DUMPABLE, PR_SET_PTRACER, PR_SET_VMA});
  return family;
}
#endif

}  // namespace families

namespace relaxed {

Family executableMemory() {
  return plain("executableMemory", {SCMP_SYS(mmap), SCMP_SYS(mprotect), SCMP_SYS(pkey_mprotect)});
}

Family forking() {
  Family family = plain("forking", {SCMP_SYS(fork), SCMP_SYS(vfork)});
  family.calls.push_back({SCMP_SYS(clone), {masked(0, kNamespaceFlags, 0)}});
  return family;
}

Family executing() {
  return families::executing();
}

}  // namespace relaxed
}  // namespace factionos::sandbox
