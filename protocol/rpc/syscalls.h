// The system calls that a loop makes after its construction, by use, as data for the policies of sandboxed
// processes. A test runs each group's use under a filter that allows nothing else. Names that the running
// kernel or libseccomp does not know (another architecture's) are to be skipped.
//
// Not here: what a process calls for itself (exit_group), and what only sanitizers call.
#pragma once

#include <array>

namespace factionos::rpc {

/// Waiting, timers, wake-ups from other threads.
///  - epoll_wait or epoll_pwait: which one depends on the release of libuv and on the architecture.
///  - epoll_ctl: on the loop's two sets, which exist already. epoll_create1 is not needed.
///  - read, write: of the wake-up eventfd.
///  - sched_yield: while another thread is in the middle of waking this one.
///  - close: at the loop's end.
///  - clock_gettime: a real call only where the vDSO does not serve it.
///  - restart_syscall: what the kernel turns an interrupted wait into after a stop.
inline constexpr auto kLoopSyscalls =
    std::to_array<const char*>({"epoll_wait", "epoll_pwait", "epoll_ctl", "read", "write", "close",
                                "clock_gettime", "futex", "sched_yield", "restart_syscall"});

/// Memory, as the C library's allocator asks for it and gives it back.
inline constexpr auto kMemorySyscalls =
    std::to_array<const char*>({"brk", "mmap", "munmap", "mremap", "mprotect", "madvise"});

/// A Connection, or any wrapped socket or pipe.
///  - recvmsg, sendmsg, getsockopt (SO_SNDBUF), shutdown: sockets alone.
///  - read, writev: everything else that is wrapped.
///  - fcntl: F_GETFL, F_SETFL, F_SETFD when a descriptor is wrapped, F_DUPFD_CLOEXEC in takeDescriptor.
inline constexpr auto kStreamSyscalls = std::to_array<const char*>(
    {"recvmsg", "sendmsg", "read", "writev", "close", "fcntl", "shutdown", "getsockopt"});

/// A listener that was bound before. getsockopt is SO_PEERCRED (acceptAuthenticated).
inline constexpr auto kListenerSyscalls = std::to_array<const char*>({"accept4", "getsockopt"});

/// Loop::blocking after startBlockingPool(): futex and the memory calls, and rt_sigprocmask if
/// startBlockingPool was called on another loop of the process. exit (of one thread), madvise and
/// rt_sigprocmask when exit() or a return from main joins the pool; _exit does not. Without
/// startBlockingPool, clone, clone3, set_robust_list, rseq, sched_getaffinity and prlimit64 come on top, and
/// a filter that refuses the clone aborts the process.
inline constexpr auto kBlockingSyscalls = std::to_array<const char*>({"futex", "rt_sigprocmask", "exit"});

/// onSignal after its first call for that signal; rt_sigprocmask when the loop ends and restores the mask.
/// The first call needs signalfd4 as well.
inline constexpr auto kSignalSyscalls = std::to_array<const char*>({"read", "rt_sigprocmask"});

}  // namespace factionos::rpc
