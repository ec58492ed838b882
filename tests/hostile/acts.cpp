#include "tests/hostile/acts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace factionos::hostile {
namespace {

using End = Act::End;
using Control = Act::Control;

long openAt(const std::string& path, int flags) {
  return syscall(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CLOEXEC, 0600);
}
std::string procOf(const Target& target, const char* file) {
  return "/proc/" + std::to_string(target.process) + "/" + file;
}
long execute(int directory, const char* path, int flags) {
  char* const words[] = {nullptr};
  return syscall(SYS_execveat, directory, path, words, words, flags);
}
long fork() {
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) _exit(0);
  return child;
}
long readMemory(pid_t process) {
  char byte = 0;
  iovec local{&byte, 1};
  iovec remote{&byte, 1};
  return syscall(SYS_process_vm_readv, process, &local, 1, &remote, 1, 0);
}
long connectTo(int socket, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return syscall(SYS_connect, socket, &address, sizeof address);
}
long executableMemory() {
  return syscall(SYS_mmap, nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                 0);
}
long replaceTrapHandler() {
  struct sigaction plain {};
  plain.sa_handler = SIG_IGN;
  return syscall(SYS_rt_sigaction, SIGSYS, &plain, nullptr, 8);
}
long raiseLimit(pid_t process) {
  const rlimit limit{1, 1};
  return syscall(SYS_prlimit64, process, RLIMIT_NPROC, &limit, nullptr);
}

constexpr std::array
    kActs =
        {
            Act{Rule::kState, "state_read", SYS_openat, End::kTrapped, Control::kSucceeds,
                [](const Target& t) { return openAt(t.path, O_RDONLY); }},
            Act{Rule::kState, "state_write", SYS_openat, End::kTrapped, Control::kSucceeds,
                [](const Target& t) { return openAt(t.path, O_WRONLY | O_APPEND); }},
            Act{Rule::kState, "state_remove", SYS_unlinkat, End::kTrapped, Control::kNone,
                [](const Target& t) { return syscall(SYS_unlinkat, AT_FDCWD, t.path.c_str(), 0); }},
            Act{Rule::kState, "state_rename", SYS_renameat2, End::kTrapped, Control::kNone,
                [](const Target& t) {
                  return syscall(SYS_renameat2, AT_FDCWD, t.path.c_str(), AT_FDCWD, (t.path + "~").c_str(),
                                 0);
                }},
            Act{Rule::kState, "state_truncate", SYS_truncate, End::kTrapped, Control::kNone,
                [](const Target& t) { return syscall(SYS_truncate, t.path.c_str(), 0); }},
            Act{Rule::kState, "state_link", SYS_linkat, End::kTrapped, Control::kNone,
                [](const Target& t) {
                  return syscall(SYS_linkat, AT_FDCWD, t.path.c_str(), AT_FDCWD, (t.path + "~").c_str(), 0);
                }},
            Act{Rule::kState, "directory_list", SYS_getdents64, End::kTrapped, Control::kComesBack,
                [](const Target&) { return syscall(SYS_getdents64, 0, nullptr, 0); }},
            Act{Rule::kState, "file_handle", SYS_open_by_handle_at, End::kTrapped, Control::kComesBack,
                [](const Target&) { return syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0); }},
            Act{Rule::kMemory, "memory_file", SYS_openat, End::kTrapped, Control::kComesBack,
                [](const Target& t) { return openAt(procOf(t, "mem"), O_RDWR); }},
            Act{Rule::kMemory, "environment_file", SYS_openat, End::kTrapped, Control::kComesBack,
                [](const Target& t) { return openAt(procOf(t, "environ"), O_RDONLY); }},
            Act{Rule::kMemory, "memory_read", SYS_process_vm_readv, End::kKilled, Control::kComesBack,
                [](const Target& t) { return readMemory(t.process); }},
            Act{Rule::kMemory, "trace", SYS_ptrace, End::kKilled, Control::kComesBack,
                [](const Target& t) {
                  return syscall(SYS_ptrace, PTRACE_SEIZE, t.process, nullptr, nullptr);
                }},
            Act{Rule::kMemory, "descriptor_steal", SYS_pidfd_getfd, End::kKilled, Control::kComesBack,
                [](const Target&) { return syscall(SYS_pidfd_getfd, -1, 3, 0); }},
            Act{Rule::kSignals, "signal_process", SYS_kill, End::kTrapped, Control::kSucceeds,
                [](const Target& t) { return syscall(SYS_kill, t.process, 0); }},
            Act{Rule::kSignals, "signal_all", SYS_kill, End::kTrapped, Control::kNone,
                [](const Target&) { return syscall(SYS_kill, -1, SIGKILL); }},
            Act{Rule::kSignals, "signal_thread", SYS_tgkill, End::kTrapped, Control::kSucceeds,
                [](const Target& t) { return syscall(SYS_tgkill, t.process, t.process, 0); }},
            Act{Rule::kSignals, "signal_queue", SYS_rt_sigqueueinfo, End::kTrapped, Control::kComesBack,
                [](const Target& t) { return syscall(SYS_rt_sigqueueinfo, t.process, SIGKILL, nullptr); }},
            Act{Rule::kSignals, "process_handle", SYS_pidfd_open, End::kTrapped, Control::kSucceeds,
                [](const Target& t) { return syscall(SYS_pidfd_open, t.process, 0); }},
            Act{Rule::kSignals, "signal_by_handle", SYS_pidfd_send_signal, End::kTrapped, Control::kComesBack,
                [](const Target&) { return syscall(SYS_pidfd_send_signal, -1, 0, nullptr, 0); }},
            Act{Rule::kSignals, "limit_of_others", SYS_prlimit64, End::kTrapped, Control::kNone,
                [](const Target& t) { return raiseLimit(t.process); }},
            Act{Rule::kPrograms, "process_start", SYS_clone, End::kTrapped, Control::kSucceeds,
                [](const Target&) { return fork(); }},
            Act{Rule::kPrograms, "program_start", SYS_execve, End::kTrapped, Control::kNone,
                [](const Target&) {
                  char* const none[] = {nullptr};
                  return syscall(SYS_execve, "/bin/true", none, none);
                }},
            Act{Rule::kPrograms, "program_by_descriptor", SYS_execveat, End::kTrapped, Control::kComesBack,
                [](const Target&) { return execute(0, "", AT_EMPTY_PATH); }},
            Act{Rule::kPrograms, "program_in_memory", SYS_memfd_create, End::kTrapped, Control::kSucceeds,
                [](const Target&) { return syscall(SYS_memfd_create, "x", 0); }},
            Act{Rule::kPrograms, "code_in_memory", SYS_mmap, End::kTrapped, Control::kSucceeds,
                [](const Target&) { return executableMemory(); }},
            Act{Rule::kSockets, "socket_tcp", SYS_socket, End::kTrapped, Control::kSucceeds,
                [](const Target&) { return syscall(SYS_socket, AF_INET, SOCK_STREAM, 0); }},
            Act{Rule::kSockets, "socket_udp", SYS_socket, End::kTrapped, Control::kSucceeds,
                [](const Target&) { return syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0); }},
            Act{Rule::kSockets, "socket_unix", SYS_socket, End::kTrapped, Control::kSucceeds,
                [](const Target&) { return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0); }},
            Act{Rule::kSockets, "socket_pair", SYS_socketpair, End::kTrapped, Control::kSucceeds,
                [](const Target&) {
                  int ends[2];
                  return syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends);
                }},
            Act{Rule::kSockets, "connect", SYS_connect, End::kTrapped, Control::kComesBack,
                [](const Target&) { return connectTo(3, 9); }},
            Act{Rule::kSockets, "bind", SYS_bind, End::kTrapped, Control::kComesBack,
                [](const Target&) { return syscall(SYS_bind, 3, nullptr, 0); }},
            Act{Rule::kSockets, "listen", SYS_listen, End::kTrapped, Control::kComesBack,
                [](const Target&) { return syscall(SYS_listen, 3, 1); }},
            Act{Rule::kSandbox, "dumpable", SYS_prctl, End::kTrapped, Control::kSucceeds,
                [](const Target&) { return syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0); }},
            Act{Rule::kSandbox, "trap_handler", SYS_rt_sigaction, End::kKilled, Control::kComesBack,
                [](const Target&) { return replaceTrapHandler(); }},
            Act{Rule::kSandbox, "namespace", SYS_unshare, End::kKilled, Control::kNone,
                [](const Target&) { return syscall(SYS_unshare, CLONE_NEWUSER); }},
            Act{Rule::kSandbox, "mount", SYS_mount, End::kKilled, Control::kComesBack,
                [](const Target&) { return syscall(SYS_mount, nullptr, nullptr, nullptr, 0, nullptr); }},
            Act{Rule::kSandbox, "keys", SYS_keyctl, End::kKilled, Control::kComesBack,
                [](const Target&) { return syscall(SYS_keyctl, 0, -3, 0); }},
            Act{Rule::kSandbox, "type_into_terminal", SYS_ioctl, End::kTrapped, Control::kComesBack,
                [](const Target&) { return syscall(SYS_ioctl, 0, TIOCSTI, "x"); }},
            Act{Rule::kModes, "set_id_file", SYS_openat, End::kTrapped, Control::kNone,
                [](const Target& t) {
                  return syscall(SYS_openat, AT_FDCWD, (t.path + "~").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC,
                                 04755);
                }},
            Act{Rule::kModes, "set_id_directory", SYS_mkdirat, End::kTrapped, Control::kNone,
                [](const Target& t) {
                  return syscall(SYS_mkdirat, AT_FDCWD, (t.path + "~").c_str(), 02755);
                }},
            Act{Rule::kModes, "set_id_of_open_file", SYS_fchmod, End::kTrapped, Control::kNone,
                [](const Target&) { return syscall(SYS_fchmod, 0, 04755); }},
            Act{Rule::kModes, "mode_that_no_filter_sees", SYS_openat2, End::kTrapped, Control::kComesBack,
                [](const Target&) { return syscall(SYS_openat2, AT_FDCWD, nullptr, nullptr, 0); }},
            Act{Rule::kModes, "mode_by_path", SYS_fchmodat, End::kTrapped, Control::kNone,
                [](const Target& t) { return syscall(SYS_fchmodat, AT_FDCWD, t.path.c_str(), 0777); }},
            Act{Rule::kModes, "device", SYS_mknodat, End::kTrapped, Control::kNone,
                [](const Target& t) {
                  return syscall(SYS_mknodat, AT_FDCWD, (t.path + "~").c_str(), S_IFIFO | 0600, 0);
                }},
};

}  // namespace

std::span<const Act> acts() {
  return kActs;
}

const Act* findAct(std::string_view name) {
  const auto found = std::ranges::find_if(kActs, [name](const Act& act) { return name == act.name; });
  return found == kActs.end() ? nullptr : &*found;
}

bool isRefusedByLandlock(const Act& act, long result, int error) {
  return result < 0 && (error == EACCES || act.call == SYS_getdents64);
}

}  // namespace factionos::hostile
