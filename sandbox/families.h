// The named families of calls. Each comment lists exactly what the family admits. Calls that an architecture
// lacks are left out there. Whether a family is allowed, refused or deadly is the policy's to say.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "sandbox/seccomp.h"

namespace factionos::sandbox::families {

// ---- What workers allow

// Memory: brk munmap mremap madvise; mmap and mprotect without PROT_EXEC. Time: clock_gettime clock_getres
// clock_nanosleep nanosleep gettimeofday time. Waiting: futex futex_waitv sched_yield restart_syscall rseq
// set_robust_list get_robust_list. Ending: exit exit_group. Abort: gettid getpid, and tgkill on this very
// process (so not for a process that forks). prctl PR_SET_VMA, which names mappings. libc opens files at odd
// times (an arena that shrinks reads a sysctl): where no files are allowed pair it with refuse(filesRead(),
// EACCES), or that kills.
Family base();

// read readv write writev close lseek fstat dup dup2 dup3; newfstatat and statx, by which libc does fstat
// (they can ask of a path too: whether it exists is no secret that Landlock keeps either); fcntl F_GETFD
// F_SETFD F_GETFL F_SETFL F_DUPFD_CLOEXEC
Family readWrite();

// epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd2 pipe2 poll ppoll select pselect6
// timerfd_create timerfd_settime timerfd_gettime; ioctl FIONBIO, FIOCLEX, FIONREAD
Family epollLoop();

// On sockets that were handed over: sendmsg sendmmsg recvmsg recvmmsg sendto recvfrom shutdown getsockname
// getpeername getsockopt setsockopt. No socket(), connect(), bind().
Family socketIo();

// rt_sigaction (any signal but SIGSYS), rt_sigprocmask rt_sigreturn rt_sigtimedwait rt_sigpending
// rt_sigsuspend sigaltstack signalfd4
Family signals();

// rt_sigaction for SIGSYS: kill it in every policy that traps, or the handler could be replaced.
Family trapHandlerChange();

// clone with the flags of a thread and no others that matter: VM FS FILES SIGHAND THREAD SYSVSEM SETTLS, and
// no namespace flag; set_tid_address, sched_getaffinity, sched_setaffinity, sched_getparam,
// sched_getscheduler, prctl(PR_SET_NAME). Pair it with refuse(clone3(), ENOSYS).
Family threads();

// openat openat2 open, newfstatat stat lstat statx, readlinkat readlink, getdents64 faccessat faccessat2
// access, statfs fstatfs getcwd, fadvise64 pread64 preadv preadv2
Family filesRead();

// mkdirat mkdir unlinkat unlink rmdir renameat renameat2 rename linkat link symlinkat symlink ftruncate
// truncate fchmod fchmodat fchmodat2 utimensat fallocate copy_file_range pwrite64 pwritev pwritev2 fsync
// fdatasync sync_file_range umask flock
Family filesWrite();

// What SQLite needs beyond filesRead() and readWrite(): pread64 pwrite64 fsync fdatasync ftruncate fallocate
// unlink unlinkat fchmod fchown geteuid utimensat mkdir mkdirat; fcntl F_GETLK F_SETLK F_SETLKW F_OFD_GETLK
// F_OFD_SETLK F_OFD_SETLKW
Family sqliteFiles();

// accept4 accept listen, bind getsockname getsockopt setsockopt. No socket().
Family listening();

// connect on a socket that was handed over or that sockets() let be made.
Family connecting();

// socket (and socketpair for AF_UNIX) of the listed families, types SOCK_STREAM and, where listed,
// SOCK_DGRAM; protocols 0, TCP and UDP; AF_NETLINK only as NETLINK_ROUTE.
Family sockets(std::initializer_list<int> addressFamilies);

// getrandom
Family randomness();

// mlock mlock2 munlock: keys that are never swapped out.
Family lockedMemory();

// getpid getppid gettid getuid geteuid getgid getegid getpgrp getpgid getsid uname sysinfo getrusage times
// prlimit64 that sets nothing (new limit null), getrlimit getpriority getcpu; prctl PR_GET_NAME PR_SET_NAME
// PR_GET_DUMPABLE
Family processInfo();

// ioctl TCGETS TCGETS2 TIOCGWINSZ TIOCSWINSZ TIOCGPTN TIOCGPGRP TIOCOUTQ FIONREAD, compared on 32 bits.
Family terminalIoctls();

// ---- What no one needs, or an escape does

// clone3: its flags lie behind a pointer that a filter cannot read. Refuse with ENOSYS, and libc falls back
// to clone.
Family clone3();

// io_uring_setup io_uring_enter io_uring_register: a second way to every call. Refuse with ENOSYS.
Family ioUring();

// ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd kcmp
Family tracing();

// mount umount2 pivot_root chroot and the newer interface: open_tree move_mount fsopen fsconfig fsmount
// fspick mount_setattr open_tree_attr statmount listmount
Family mounting();

// unshare setns
Family namespaceCalls();

// clone with any CLONE_NEW* flag (NEWTIME is no flag of clone: its bit is part of the exit signal there)
Family cloneNamespaces();

// clone without CLONE_THREAD and in the same namespaces, fork, vfork
Family processes();

// execve execveat
Family executing();

// bpf perf_event_open userfaultfd keyctl add_key request_key kexec_load kexec_file_load init_module
// finit_module delete_module create_module lookup_dcookie
Family kernelSurface();

// reboot swapon swapoff acct quotactl quotactl_fd syslog iopl ioperm settimeofday clock_settime clock_adjtime
// adjtimex sethostname setdomainname vhangup nfsservctl uselib sysfs _sysctl ustat modify_ldt
Family administration();

// open_by_handle_at name_to_handle_at
Family fileHandles();

// chmod fchmod fchmodat fchmodat2 creat mknod mknodat with the set-user-id or the set-group-id bit in the
// mode; open and openat with one of them where they make a file (O_CREAT, O_TMPFILE). Pair it with
// refuse(openByStructure(), ENOSYS).
Family setIdModes();

// openat2: its flags and mode lie behind a pointer that a filter cannot read. Refuse with ENOSYS: programs
// fall back to openat.
Family openByStructure();

// memfd_create memfd_secret: memory that is mapped by nobody and lies in no file system.
Family memoryFiles();

// setxattr lsetxattr removexattr lremovexattr setxattrat removexattrat file_setattr: by path, which Landlock
// does not look at. Those on an open descriptor are not among them.
Family attributesByPath();

// fanotify_init fanotify_mark
Family fileNotification();

// ---- What a supervisor may want to hear of (notify.h)

// Whatever brings a name about, or moves one: open and openat with O_CREAT (and not O_PATH), creat mkdir
// mkdirat mknod mknodat rename renameat renameat2 link linkat symlink symlinkat. bind is not among them.
// openat2 neither: see openByStructure().
Family makingNames();

// open and openat for writing, of what exists, too (not with O_PATH); truncate.
Family openingToWrite();

// unlink unlinkat rmdir
Family removingNames();

// open and openat for reading alone, without O_CREAT, O_TRUNC, O_PATH or O_NOCTTY, with which a compiler
// tries each directory for each header; openat2 is not among them.
Family openingToRead();

// umask
Family creationMask();

// bind: of a socket of the unix family it brings a name about.
Family binding();

// chdir; what fchdir goes to was opened before.
Family changingDirectory();

// ioctl TIOCSTI and TIOCLINUX, compared on 32 bits: typing into the terminal of whoever shares it.
Family terminalInjection();
// ioctl() by which a file system makes trees, lets them go, or locks them, past every right to their names:
// of btrfs and bcachefs (subvolumes, snapshots), fscrypt (keys and policies) and fs-verity. Sharing extents
// (FICLONE and its kind), which has a number of btrfs's, is none of it.
Family fileSystemControls();

// personality with anything but 0 (PER_LINUX) and 0xffffffff (only ask)
Family personalities();

// socket and socketpair of any family but the listed; raw and other unlisted types; protocols other than 0,
// TCP and UDP (so no MPTCP, ICMP, SCTP ...); AF_NETLINK, if listed, only as NETLINK_ROUTE. AF_UNIX, if not
// listed, is denied as socket() but socketpair() stays: it can reach nobody.
Family socketsBut(std::vector<int> addressFamilies);

// Every number above the last one that we know, up to 639. Refuse with ENOSYS in a deny-list: what a future
// kernel adds was judged by nobody.
Family newerThanKnown();

#ifdef FACTIONOS_SANITIZED
// What the sanitizers' run-time calls on its own. Exists in sanitizer builds only.
Family sanitizerRuntime();
#endif

}  // namespace factionos::sandbox::families
