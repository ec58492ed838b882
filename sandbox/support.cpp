#include "sandbox/support.h"

#include <array>
#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/landlock.h"
#include "sandbox/notify.h"

namespace factionos::sandbox {
namespace {

bool actionAvailable(std::uint32_t action) {
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}

// A null program: EFAULT says that the flags were understood and the program would have been read next.
bool filterFlagAvailable(unsigned long flags) {
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, nullptr) == -1 && errno == EFAULT;
}

// Flags that are understood are not all: a listener of whoever runs us is in the way of ours (EBUSY), which
// only loading one tells.
bool canListen() {
  const pid_t child = fork();
  if (child == 0) {
    sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const sock_fprog program{1, &allow};
    const bool loaded = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kListenerFlags, &program) >= 0;
    _exit(loaded ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int tryPty() {
  const Fd controller(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!controller) return errno;
  if (grantpt(controller.get()) != 0 || unlockpt(controller.get()) != 0) return errno;
  std::array<char, 64> name{};
  if (const int error = ptsname_r(controller.get(), name.data(), name.size()); error != 0) return error;
  const Fd terminal(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  return terminal ? 0 : errno;
}

// The path after "0::" in /proc/self/cgroup, or empty.
std::string ownCgroup() {
  const Fd file(open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::array<char, 4096> buffer{};
  const ssize_t got = read(file.get(), buffer.data(), buffer.size());
  if (got <= 0) return {};
  const std::string text = "\n" + std::string(buffer.data(), static_cast<std::size_t>(got));
  const std::size_t start = text.find("\n0::/");
  if (start == std::string::npos) return {};
  const std::size_t end = text.find('\n', start + 1);
  return text.substr(start + 4, end == std::string::npos ? std::string::npos : end - start - 4);
}

// Delegated is what lets us make a child cgroup, and nothing else.
std::string delegatedCgroup() {
  const std::string own = ownCgroup();
  if (own.empty()) return {};
  for (const std::string mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    struct statfs status {};
    if (statfs(mount.c_str(), &status) != 0 || status.f_type != CGROUP2_SUPER_MAGIC) continue;
    const std::string directory = mount + (own == "/" ? "" : own);
    const std::string child = directory + "/factionos-probe-" + std::to_string(getpid());
    if (mkdir(child.c_str(), 0755) != 0) continue;
    const bool movable = ::access((child + "/cgroup.procs").c_str(), W_OK) == 0 &&
                         ::access((directory + "/cgroup.procs").c_str(), W_OK) == 0;
    rmdir(child.c_str());
    if (movable) return directory;
  }
  return {};
}

}  // namespace

KernelSupport probeKernel() {
  KernelSupport support;
  support.landlockAbi = landlockAbi();
  support.seccompFilter = filterFlagAvailable(0) && actionAvailable(SECCOMP_RET_ERRNO) &&
                          actionAvailable(SECCOMP_RET_TRAP) && actionAvailable(SECCOMP_RET_KILL_PROCESS);
  support.seccompNotify = actionAvailable(SECCOMP_RET_USER_NOTIF) && canSupervise() && canListen();
  support.seccompThreadSync = filterFlagAvailable(SECCOMP_FILTER_FLAG_TSYNC);
  support.namespaces = probeNamespaces();
  support.cgroupDirectory = delegatedCgroup();
  support.pty = tryPty();
  return support;
}

}  // namespace factionos::sandbox
