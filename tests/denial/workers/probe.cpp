// One forbidden act, tried by a process inside of a profile: prints "ok", or the name of the errno. Run
// without a sandbox it is the control.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace {

using Arguments = std::vector<std::string>;

long number(const std::string& text) {
  return std::strtol(text.c_str(), nullptr, 0);
}
const sockaddr* generic(const void* address) {
  return static_cast<const sockaddr*>(address);
}

long openFor(const Arguments& words, int flags) {
  const int file = open(words.at(0).c_str(), flags | O_CLOEXEC | O_NOCTTY, 0600);
  if (file < 0) return -1;
  char byte = 'x';
  return (flags & O_ACCMODE) == O_RDONLY ? (read(file, &byte, 1) < 0 ? -1 : 0)
                                         : (write(file, &byte, 1) < 0 ? -1 : 0);
}

long connectUnix(const std::string& name, bool abstract) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + (abstract ? 1 : 0), name.data(), name.size());
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 1 : 0));
  return connect(socket, generic(&address), abstract ? size : sizeof address);
}

sockaddr_in loopback(long port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

long connectDatagrams(long port) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const sockaddr_in address = loopback(port);
  return connect(socket, generic(&address), sizeof address);
}

long connectTcp(long port, int protocol) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);
  if (socket < 0) return -1;
  const sockaddr_in address = loopback(port);
  return connect(socket, generic(&address), sizeof address);
}

long sendUdp(long port) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const sockaddr_in address = loopback(port);
  return sendto(socket, "leak", 4, 0, generic(&address), sizeof address) < 0 ? -1 : 0;
}

long fastOpen(long port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const sockaddr_in address = loopback(port);
  return sendto(socket, "leak", 4, MSG_FASTOPEN, generic(&address), sizeof address) < 0 ? -1 : 0;
}

// Both numbers of TIOCSTI: as it is, and with a bit above the 32 that the kernel looks at.
long typeInto(std::uint64_t request) {
  const char letter = 'x';
  return syscall(SYS_ioctl, STDIN_FILENO, request, &letter);
}

#ifdef __x86_64__
long byInt80() {
  signal(SIGSEGV, SIG_DFL);  // where there is no such entry: no run-time of ours tells of it
  long result = 0;
  asm volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");  // getpid of i386
  if (result >= 0) return 0;
  errno = static_cast<int>(-result);
  return -1;
}
long byX32() {
  return syscall(0x40000000L | SYS_getpid);
}
#endif

long cloneWith(unsigned long flags) {
  return syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr) < 0 ? -1 : 0;
}

long ioUring() {
  io_uring_params params{};
  return syscall(SYS_io_uring_setup, 4, &params);
}

// Whether a protected name came to be while another thread changed, as often as it could, what the path's
// bytes say. The name's last letter alternates between that of `words[0]` and another.
long raceOnText(const Arguments& words) {
  std::string text = words.at(0);
  std::string other = text;
  other.back() = 'X';
  std::atomic<bool> over = false;
  std::thread flipper([&]() {
    volatile char* const last = &text.back();
    while (!over) {
      *last = 'X';
      *last = words.at(0).back();
    }
  });
  long seen = 0;
  for (long i = 0; i < number(words.at(1)); ++i) {
    const int file = open(text.c_str(), O_WRONLY | O_CREAT, 0600);
    if (file >= 0) close(file);
    mkdir(text.c_str(), 0700);
    if (access(words.at(0).c_str(), F_OK) == 0) ++seen;
    unlink(other.c_str());
    rmdir(other.c_str());
  }
  over = true;
  flipper.join();
  errno = EEXIST;
  return seen == 0 ? 0 : -1;
}

// The same while a link that the path leads over leads now here, now there: `words[0]` is below what it ends
// in.
long raceOnLink(const Arguments& words) {
  const std::string& target = words.at(0);
  const std::string directory = target.substr(0, target.rfind('/'));
  const std::string name = target.substr(target.rfind('/') + 1);
  mkdir("plain", 0700);
  std::atomic<bool> over = false;
  std::thread flipper([&]() {
    for (unsigned i = 0; !over; ++i) {
      unlink("next");
      if (symlink(i % 2 == 0 ? "plain" : directory.c_str(), "next") == 0) rename("next", "way");
    }
  });
  long seen = 0;
  for (long i = 0; i < number(words.at(1)); ++i) {
    mkdir(("way/" + name).c_str(), 0700);
    rename("plain", "plain2");
    rename("plain2", "plain");
    if (access(target.c_str(), F_OK) == 0) ++seen;
    rmdir(("plain/" + name).c_str());
  }
  over = true;
  flipper.join();
  errno = EEXIST;
  return seen == 0 ? 0 : -1;
}

long bindTo(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return bind(socket, generic(&address), sizeof address);
}

std::uint32_t modeOf(const Arguments& words) {
  return static_cast<std::uint32_t>(number(words.at(1)));
}

long changeMode(const Arguments& words, int call) {
  if (call == SYS_fchmod)
    return syscall(SYS_fchmod, open(words.at(0).c_str(), O_RDONLY | O_CLOEXEC), modeOf(words));
  if (call == SYS_chmod) return syscall(SYS_chmod, words.at(0).c_str(), modeOf(words));
  return syscall(call, AT_FDCWD, words.at(0).c_str(), modeOf(words), 0);
}

// The bits that the umask would not take away are the ones that are asked for here.
long makeUnnamed(const Arguments& words) {
  const std::string name = words.at(0);
  const std::size_t slash = name.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : name.substr(0, slash);
  const int file = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, modeOf(words));
  if (file < 0) return -1;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  return linkat(AT_FDCWD, path.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
}

long makeByStructure(const Arguments& words) {
  open_how how{};
  how.flags = O_CREAT | O_WRONLY | O_CLOEXEC;
  how.mode = modeOf(words);
  return syscall(SYS_openat2, AT_FDCWD, words.at(0).c_str(), &how, sizeof how);
}

long scheduleByAttributes(long pid) {
  struct {
    std::uint32_t size = 48;
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0, deadline = 0, period = 0;
  } attributes;
  return syscall(SYS_sched_setattr, pid, &attributes, 0U);
}

using Act = long (*)(const Arguments&);

const std::map<std::string, Act>& acts() {
  static const std::map<std::string, Act> table = {
      {"read", [](const Arguments& a) { return openFor(a, O_RDONLY); }},
      {"list",
       [](const Arguments& a) -> long { return open(a.at(0).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }},
      {"write", [](const Arguments& a) { return openFor(a, O_WRONLY | O_CREAT); }},
      {"truncate", [](const Arguments& a) -> long { return truncate(a.at(0).c_str(), 0); }},
      {"mkdir", [](const Arguments& a) -> long { return mkdir(a.at(0).c_str(), 0755); }},
      {"rename", [](const Arguments& a) -> long { return rename(a.at(0).c_str(), a.at(1).c_str()); }},
      {"link", [](const Arguments& a) -> long { return link(a.at(0).c_str(), a.at(1).c_str()); }},
      {"chmod", [](const Arguments& a) { return changeMode(a, SYS_chmod); }},
      {"fchmod", [](const Arguments& a) { return changeMode(a, SYS_fchmod); }},
      {"fchmodat", [](const Arguments& a) { return changeMode(a, SYS_fchmodat); }},
      {"fchmodat2", [](const Arguments& a) { return changeMode(a, 452); }},
      {"make-openat",
       [](const Arguments& a) {
         return syscall(SYS_openat, AT_FDCWD, a.at(0).c_str(), O_CREAT | O_WRONLY, modeOf(a));
       }},
      {"make-open",
       [](const Arguments& a) { return syscall(SYS_open, a.at(0).c_str(), O_CREAT | O_WRONLY, modeOf(a)); }},
      {"make-creat", [](const Arguments& a) { return syscall(SYS_creat, a.at(0).c_str(), modeOf(a)); }},
      {"make-unnamed", makeUnnamed},
      {"make-mknod",
       [](const Arguments& a) { return syscall(SYS_mknod, a.at(0).c_str(), S_IFREG | modeOf(a), 0); }},
      {"make-mknodat",
       [](const Arguments& a) {
         return syscall(SYS_mknodat, AT_FDCWD, a.at(0).c_str(), S_IFREG | modeOf(a), 0);
       }},
      {"make-openat2", makeByStructure},
      {"memfd", [](const Arguments&) { return syscall(SYS_memfd_create, "x", 0U); }},
      {"memfd-secret", [](const Arguments&) { return syscall(447, 0U); }},
      {"setxattr",
       [](const Arguments& a) -> long { return setxattr(a.at(0).c_str(), "user.probe", "x", 1, 0); }},
      {"removexattr", [](const Arguments& a) -> long { return removexattr(a.at(0).c_str(), "user.probe"); }},
      {"fanotify", [](const Arguments&) { return syscall(SYS_fanotify_init, 0x200U, 0U); }},
      {"exchange",
       [](const Arguments& a) -> long {
         return renameat2(AT_FDCWD, a.at(0).c_str(), AT_FDCWD, a.at(1).c_str(), RENAME_EXCHANGE);
       }},
      {"rmdir", [](const Arguments& a) -> long { return rmdir(a.at(0).c_str()); }},
      {"unlink", [](const Arguments& a) -> long { return unlink(a.at(0).c_str()); }},
      {"variable",
       [](const Arguments& a) -> long {
         errno = ENOENT;
         return getenv(a.at(0).c_str()) != nullptr ? 0 : -1;
       }},
      {"connect-path", [](const Arguments& a) { return connectUnix(a.at(0), false); }},
      {"connect-abstract", [](const Arguments& a) { return connectUnix(a.at(0), true); }},
      {"connect-tcp", [](const Arguments& a) { return connectTcp(number(a.at(0)), 0); }},
      {"connect-udp", [](const Arguments& a) { return connectDatagrams(number(a.at(0))); }},
      {"connect-mptcp", [](const Arguments& a) { return connectTcp(number(a.at(0)), 262); }},
      {"fast-open", [](const Arguments& a) { return fastOpen(number(a.at(0))); }},
      {"send-udp", [](const Arguments& a) { return sendUdp(number(a.at(0))); }},
      {"socket",
       [](const Arguments& a) -> long {
         return socket(static_cast<int>(number(a.at(0))), static_cast<int>(number(a.at(1))),
                       static_cast<int>(number(a.at(2))));
       }},
      {"socketpair",
       [](const Arguments&) -> long {
         int ends[2];
         return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
       }},
      {"kill", [](const Arguments& a) -> long { return kill(static_cast<pid_t>(number(a.at(0))), 0); }},
      {"ptrace",
       [](const Arguments& a) {
         return ptrace(PTRACE_SEIZE, static_cast<pid_t>(number(a.at(0))), nullptr, nullptr);
       }},
      {"tiocsti", [](const Arguments&) { return typeInto(TIOCSTI); }},
      {"tiocsti-high", [](const Arguments&) { return typeInto((std::uint64_t{1} << 32) | TIOCSTI); }},
      {"tioclinux", [](const Arguments&) { return typeInto(TIOCLINUX); }},
      {"mount",
       [](const Arguments& a) -> long { return mount("none", a.at(0).c_str(), "tmpfs", 0, nullptr); }},
      {"umount", [](const Arguments& a) -> long { return umount2(a.at(0).c_str(), MNT_DETACH); }},
      {"open-tree", [](const Arguments&) { return syscall(SYS_open_tree, AT_FDCWD, "/", 1U); }},
      {"unshare-user", [](const Arguments&) -> long { return unshare(CLONE_NEWUSER); }},
      {"clone-user", [](const Arguments&) { return cloneWith(CLONE_NEWUSER); }},
      {"clone3", [](const Arguments&) { return syscall(SYS_clone3, nullptr, 0UL); }},
      {"io-uring", [](const Arguments&) { return ioUring(); }},
      {"bpf", [](const Arguments&) { return syscall(SYS_bpf, 0, nullptr, 0U); }},
      {"keyctl", [](const Arguments&) { return syscall(SYS_keyctl, 0, -3, 0); }},
      {"perf", [](const Arguments&) { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0UL); }},
      {"userfaultfd", [](const Arguments&) { return syscall(SYS_userfaultfd, 0); }},
      {"personality", [](const Arguments&) -> long { return personality(ADDR_NO_RANDOMIZE); }},
      {"handle", [](const Arguments&) { return syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0); }},
#ifdef __x86_64__
      {"int80", [](const Arguments&) { return byInt80(); }},
      {"x32", [](const Arguments&) { return byX32(); }},
#endif
      {"limit-other",
       [](const Arguments& a) -> long {
         const rlimit limit{1000, 1000};
         return prlimit(static_cast<pid_t>(number(a.at(0))), RLIMIT_NOFILE, a.size() > 1 ? nullptr : &limit,
                        nullptr);
       }},
      {"slow-all", [](const Arguments&) -> long { return setpriority(PRIO_USER, 0, 1); }},
      {"pin",
       [](const Arguments& a) -> long {
         cpu_set_t set;
         CPU_ZERO(&set);
         CPU_SET(0, &set);
         return sched_setaffinity(static_cast<pid_t>(number(a.at(0))), sizeof set, &set);
       }},
      {"schedule",
       [](const Arguments& a) -> long {
         const sched_param parameters{};
         return sched_setscheduler(static_cast<pid_t>(number(a.at(0))), SCHED_OTHER, &parameters);
       }},
      {"schedule-parameters",
       [](const Arguments& a) -> long {
         const sched_param parameters{};
         return sched_setparam(static_cast<pid_t>(number(a.at(0))), &parameters);
       }},
      {"schedule-attributes", [](const Arguments& a) { return scheduleByAttributes(number(a.at(0))); }},
      {"renice",
       [](const Arguments& a) -> long {
         return setpriority(PRIO_PROCESS, static_cast<id_t>(number(a.at(0))), 0);
       }},
      {"renice-group",
       [](const Arguments& a) -> long {
         return setpriority(PRIO_PGRP, static_cast<id_t>(number(a.at(0))), 0);
       }},
      {"ionice", [](const Arguments& a) { return syscall(SYS_ioprio_set, 1, number(a.at(0)), 0); }},
      {"shared-memory",
       [](const Arguments&) -> long {
         const int segment = shmget(IPC_PRIVATE, 4096, 0600);
         return segment < 0 ? -1 : shmctl(segment, IPC_RMID, nullptr);
       }},
      {"line-discipline",
       [](const Arguments&) -> long {
         const int discipline = 0;  // N_TTY, the one that is there
         return ioctl(STDIN_FILENO, TIOCSETD, &discipline);
       }},
      {"race-on-text", raceOnText},
      {"race-on-link", raceOnLink},
      {"symlink", [](const Arguments& a) -> long { return symlink(a.at(0).c_str(), a.at(1).c_str()); }},
      {"mkfifo", [](const Arguments& a) -> long { return mkfifo(a.at(0).c_str(), 0600); }},
      {"bind", [](const Arguments& a) { return bindTo(a.at(0)); }},
      {"nothing", [](const Arguments&) -> long { return 0; }},
  };
  return table;
}

}  // namespace

int main(int argumentCount, char** arguments) {
  if (argumentCount < 2 || !acts().contains(arguments[1])) return 2;
  errno = 0;
  const long result = acts().at(arguments[1])(Arguments(arguments + 2, arguments + argumentCount));
  std::puts(result >= 0 ? "ok" : strerrorname_np(errno));
  return 0;
}
