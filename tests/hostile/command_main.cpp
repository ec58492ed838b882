// A command that turns against every process that it is told of: prints "PID ACT RESULT" for each, where
// RESULT is "ok" or the name of the errno. Run without a sandbox it is the control.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

std::string proc(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}
long readByte(pid_t pid, const char* file) {
  const int fd = open(proc(pid, file).c_str(), O_RDONLY | O_CLOEXEC);
  char byte = 0;
  return fd < 0 ? -1 : (read(fd, &byte, 1) < 0 ? -1 : 0);
}
long writeText(pid_t pid, const char* file, const char* text) {
  const int fd = open(proc(pid, file).c_str(), O_WRONLY | O_CLOEXEC);
  return fd < 0 ? -1 : (write(fd, text, std::strlen(text)) < 0 ? -1 : 0);
}
long openMemory(pid_t pid) {
  return open(proc(pid, "mem").c_str(), O_RDWR | O_CLOEXEC);
}
// Its descriptors: the terminal's master, lines, listeners.
long openDescriptor(pid_t pid, int number) {
  return open(proc(pid, ("fd/" + std::to_string(number)).c_str()).c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY);
}
long linkOf(pid_t pid, const char* file) {
  char target[64];
  return readlink(proc(pid, file).c_str(), target, sizeof target);
}
long viaHandle(pid_t pid, long (*use)(int)) {
  const long handle = syscall(SYS_pidfd_open, pid, 0);
  return handle < 0 ? -1 : use(static_cast<int>(handle));
}
long readMemory(pid_t pid) {
  char byte = 0;
  iovec local{&byte, 1};
  iovec remote{reinterpret_cast<void*>(&readMemory), 1};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}
long limit(pid_t pid) {
  rlimit now{};
  if (prlimit(pid, RLIMIT_CORE, nullptr, &now) != 0) return -1;
  now.rlim_cur = 0;
  return prlimit(pid, RLIMIT_CORE, &now, nullptr);
}
long pin(pid_t pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return sched_setaffinity(pid, sizeof set, &set);
}
long idle(pid_t pid) {
  const sched_param none{};
  return sched_setscheduler(pid, SCHED_IDLE, &none);
}

struct Act {
  const char* name;
  long (*run)(pid_t);
};
constexpr std::array kActs = {
    Act{"signal", [](pid_t p) -> long { return kill(p, 0); }},
    // -1 would be everybody, itself too.
    Act{"signal_group", [](pid_t p) -> long { return p > 1 ? kill(-p, SIGKILL) : kill(p, SIGKILL); }},
    Act{"signal_thread", [](pid_t p) { return syscall(SYS_tgkill, p, p, 0); }},
    Act{"signal_queue", [](pid_t p) -> long { return sigqueue(p, 0, {}); }},
    Act{"signal_by_handle",
        [](pid_t p) {
          return viaHandle(p, [](int h) { return syscall(SYS_pidfd_send_signal, h, 0, nullptr, 0); });
        }},
    Act{"descriptor_by_handle",
        [](pid_t p) { return viaHandle(p, [](int h) { return syscall(SYS_pidfd_getfd, h, 0, 0); }); }},
    Act{"trace", [](pid_t p) { return ptrace(PTRACE_SEIZE, p, nullptr, nullptr); }},
    Act{"memory_read", readMemory},
    Act{"memory_file", openMemory},
    Act{"environment", [](pid_t p) { return readByte(p, "environ"); }},
    Act{"maps", [](pid_t p) { return readByte(p, "maps"); }},
    Act{"auxiliary", [](pid_t p) { return readByte(p, "auxv"); }},
    Act{"descriptors", [](pid_t p) { return linkOf(p, "fd/0"); }},
    Act{"descriptor_0", [](pid_t p) { return openDescriptor(p, 0); }},
    Act{"descriptor_3", [](pid_t p) { return openDescriptor(p, 3); }},
    Act{"descriptor_8", [](pid_t p) { return openDescriptor(p, 8); }},
    Act{"directory", [](pid_t p) { return linkOf(p, "cwd"); }},
    Act{"root", [](pid_t p) { return linkOf(p, "root"); }},
    Act{"compare", [](pid_t p) { return syscall(SYS_kcmp, p, p, KCMP_FILE, 0, 0); }},
    Act{"limit", limit},
    Act{"pin", pin},
    Act{"priority", [](pid_t p) -> long { return setpriority(PRIO_PROCESS, static_cast<id_t>(p), 19); }},
    Act{"priority_of_group",
        [](pid_t p) -> long { return setpriority(PRIO_PGRP, static_cast<id_t>(p), 19); }},
    Act{"scheduler", idle},
    Act{"io_priority", [](pid_t p) { return syscall(SYS_ioprio_set, 1, p, 3 << 13); }},
    Act{"io_priority_of_group", [](pid_t p) { return syscall(SYS_ioprio_set, 2, p, 3 << 13); }},
    Act{"pages", [](pid_t p) { return syscall(SYS_migrate_pages, p, 0UL, nullptr, nullptr); }},
    Act{"out_of_memory_score", [](pid_t p) { return writeText(p, "oom_score_adj", "1000"); }},
    Act{"core_filter", [](pid_t p) { return writeText(p, "coredump_filter", "0x7f"); }},
    Act{"name", [](pid_t p) { return writeText(p, "comm", "x"); }},
    // Last: where it works there is nobody left to try on.
    Act{"end", [](pid_t p) -> long { return kill(p, SIGKILL); }},
};

}  // namespace

int main(int count, char** arguments) {
  for (int each = 1; each < count; ++each) {
    const auto pid = static_cast<pid_t>(std::strtol(arguments[each], nullptr, 10));
    for (const Act& act : kActs) {
      errno = 0;
      const long result = act.run(pid);
      std::printf("%d %s %s\n", static_cast<int>(pid), act.name, result >= 0 ? "ok" : strerrorname_np(errno));
    }
  }
  std::puts("finished");
  return 0;
}
