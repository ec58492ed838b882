// System calls whose answer tells who gave it: the filter, or the kernel behind it.
#include <cerrno>
#include <csignal>

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/verify/act.h"
#include "sandbox/verify/world.h"

namespace factionos::sandbox::verify {
namespace {

constexpr std::uint64_t kHighBit = std::uint64_t{1} << 32;

// Null pointers and numbers out of range: where the call is let through it comes to nothing.
template <long number, long... arguments>
long plain(const World&, Evidence&) {
  return syscall(number, arguments...);
}

template <unsigned long flag>
long cloneWith(const World&, Evidence&) {
  const long child = syscall(SYS_clone, flag | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) _exit(0);
  return child;
}

template <std::uint64_t request>
long control(const World&, Evidence&) {
  int argument = 'x';  // one byte to type; as a line discipline out of range
  return syscall(SYS_ioctl, STDIN_FILENO, request, &argument);
}

long ioUring(const World&, Evidence&) {
  io_uring_params parameters{};
  return syscall(SYS_io_uring_setup, 1, &parameters);
}

long memoryFile(const World&, Evidence&) {
  const Fd file(static_cast<int>(syscall(SYS_memfd_create, "probe", 1U)));
  return file ? 0 : -1;
}

long makeExecutable(Evidence& evidence) {
  constexpr std::size_t kPage = 4096;
  void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return -1;
  const long result = mprotect(page, kPage, PROT_READ | PROT_EXEC);
  evidence.value = result == 0 ? 1 : 0;
  return result;
}

#ifdef __x86_64__
long byInt80(const World&, Evidence&) {
  long result = 20;  // getpid of i386
  asm volatile("int $0x80" : "+a"(result) : : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory");
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}
#endif

constexpr Act entry(std::string_view name, std::string_view attempt, long (*act)(const World&, Evidence&)) {
  return {name, attempt, act, nullptr, Control::kEntry, Look::kAtOnce};
}

constexpr Act kActs[] = {
    entry("io-uring", "set up an io_uring, a second way to every call", ioUring),
    entry("bpf", "load a BPF program", plain<SYS_bpf, -1, 0, 1 << 20>),
    entry("keyctl", "use the kernel's keys", plain<SYS_keyctl, -1, 0, 0>),
    entry("add-key", "add a key to the kernel's", plain<SYS_add_key, 0, 0, 0, 0, 0>),
    entry("request-key", "ask the kernel for a key", plain<SYS_request_key, 0, 0, 0, 0>),
    entry("userfaultfd", "handle page faults", plain<SYS_userfaultfd, -1>),
    entry("perf", "measure by perf_event_open", plain<SYS_perf_event_open, 0, 0, -1, -1, 0>),
    entry("init-module", "load a kernel module", plain<SYS_init_module, 0, 0, 0>),
    entry("kexec", "load another kernel", plain<SYS_kexec_load, 0, 1000, 0, 0>),
    entry("reboot", "restart the machine", plain<SYS_reboot, 0, 0, 0, 0>),
    entry("swapon", "swap to a file", plain<SYS_swapon, 0, 0>),
    entry("set-clock", "set the clock", plain<SYS_clock_settime, -1, 0>),
    entry("kernel-log", "read the kernel's log", plain<SYS_syslog, 99, 0, 0>),
    entry("mount", "mount", plain<SYS_mount, 0, 0, 0, 0, 0>),
    entry("umount", "unmount", plain<SYS_umount2, 0, 0x7fff0000>),
    entry("pivot-root", "change the root", plain<SYS_pivot_root, 0, 0>),
    entry("open-tree", "copy a tree of mounts", plain<SYS_open_tree, -1, 0, 1>),
    entry("new-mount", "mount by the newer calls", plain<SYS_fsopen, 0, 0>),
    entry("unshare-user", "become the root of a user namespace", plain<SYS_unshare, CLONE_NEWUSER>),
    entry("unshare-mounts", "make a mount namespace", plain<SYS_unshare, CLONE_NEWNS>),
    entry("setns", "enter another's namespace", plain<SYS_setns, -1, 0>),
    entry("clone-user", "start a process in a user namespace", cloneWith<CLONE_NEWUSER>),
    entry("clone-network", "start a process in a network namespace", cloneWith<CLONE_NEWNET>),
    entry("clone-high-bits", "the same, with a bit above those that the kernel knows",
          cloneWith<CLONE_NEWUSER | (1UL << 40)>),
    entry("clone3", "start a process with flags that no filter can read", plain<SYS_clone3, 0, 0>),
    entry("file-handle", "open a file by its handle", plain<SYS_open_by_handle_at, -1, 0, 0>),
    entry("openat2", "open with a mode that no filter can read", plain<SYS_openat2, -1, 0, 0, 0>),
    entry("memory-file", "make a file that lies in memory alone, to execute it", memoryFile),
    entry("fanotify", "watch what others do with files", plain<SYS_fanotify_init, 0x7fff0000, 0>),
    entry("personality", "change what the kernel means by a call", plain<SYS_personality, ADDR_NO_RANDOMIZE>),
    entry("trace-me", "be traced by its parent", plain<SYS_ptrace, PTRACE_TRACEME, 0, 0, 0>),
    entry("compare-kernel", "compare kernel objects of processes", plain<SYS_kcmp, -1, -1, 99, 0, 0>),
    entry("terminal-type", "type into a terminal (TIOCSTI)", control<TIOCSTI>),
    entry("terminal-type-high-bits", "the same, with a bit above the 32 that the kernel reads",
          control<kHighBit | TIOCSTI>),
    entry("terminal-type-sign", "the same, with all the bits above",
          control<0xffffffff00000000ULL | TIOCSTI>),
    entry("terminal-paste", "paste into a console (TIOCLINUX)", control<TIOCLINUX>),
    entry("line-discipline", "load a driver between terminal and program", control<TIOCSETD>),
    entry("shared-segment", "reach System V memory of others", plain<SYS_shmget, 0, 0, 0>),
    entry("newer-call", "a call that nobody has judged yet", plain<600>),
    entry("change-trap-handler", "replace the handler that reports refused calls",
          plain<SYS_rt_sigaction, SIGSYS, 0, 0, 8>),
#ifdef __x86_64__
    entry("x32", "enter by the x32 numbers", plain<0x40000000L | SYS_getpid>),
    entry("x32-execve", "execute by the x32 numbers", plain<0x40000000L | 520, 0, 0, 0>),
    entry("int80", "enter by the 32-bit numbers (int 0x80)", byInt80),
#endif
    {"make-executable", "execute memory that it wrote",
     [](const World&, Evidence& evidence) { return makeExecutable(evidence); },
     [](const World&, const Evidence& evidence) { return evidence.value == 1; }},
};

}  // namespace

std::span<const Act> callActs() {
  return kActs;
}

}  // namespace factionos::sandbox::verify
