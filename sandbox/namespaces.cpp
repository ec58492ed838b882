#include "sandbox/namespaces.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "sandbox/setup_error.h"

namespace factionos::sandbox {
namespace {

// One kind of namespace besides the user's: how it is named in each of our structures.
struct Kind {
  int flag;
  Need Namespaces::*wanted;
  bool NamespacePosture::*entered;
  int NamespaceSupport::*support;
  std::string_view missing;
};
constexpr std::array kKinds = {
    Kind{CLONE_NEWNS, &Namespaces::mount, &NamespacePosture::mount, &NamespaceSupport::mount,
         "mount_namespace_refused"},
    Kind{CLONE_NEWPID, &Namespaces::pid, &NamespacePosture::pid, &NamespaceSupport::pid,
         "pid_namespace_refused"},
    Kind{CLONE_NEWNET, &Namespaces::network, &NamespacePosture::network, &NamespaceSupport::network,
         "network_namespace_refused"},
    Kind{CLONE_NEWIPC, &Namespaces::ipc, &NamespacePosture::ipc, &NamespaceSupport::ipc,
         "ipc_namespace_refused"},
    Kind{CLONE_NEWUTS, &Namespaces::uts, &NamespacePosture::uts, &NamespaceSupport::uts,
         "uts_namespace_refused"},
};

// 0, or an errno.
int writeWhole(const char* path, const std::string& text) {
  const Fd file(open(path, O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  const ssize_t written = write(file.get(), text.data(), text.size());
  if (written < 0) return errno;
  return static_cast<std::size_t>(written) == text.size() ? 0 : EIO;
}

// Each id mapped to itself: nothing here is ever root, in no namespace.
int mapOwnIds(uid_t user, gid_t group) {
  const std::string userText = std::to_string(user);
  const std::string groupText = std::to_string(group);
  int error = writeWhole("/proc/self/setgroups", "deny");
  if (error == 0) error = writeWhole("/proc/self/uid_map", userText + " " + userText + " 1");
  if (error == 0) error = writeWhole("/proc/self/gid_map", groupText + " " + groupText + " 1");
  return error;
}

int raiseLoopback() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return errno;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  return ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
}

// ---- The child that tries. It reports by errno values and makes nothing that outlives it.

int tryMount() {
  if (unshare(CLONE_NEWNS) != 0) return errno;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  return mount("tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV, "size=4096") == 0 ? 0 : errno;
}

// In the init of a pid namespace: whether the kernel gives that one a /proc of its own, where it has mounts
// at all. It does not where something lies over a part of the /proc that is there, as in many containers.
int tryOwnProc() {
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 0;
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 ? 0 : errno;
}

// One without a /proc that shows it is worse than none: nobody inside would know whom a process number means.
int tryPid() {
  if (unshare(CLONE_NEWPID) != 0) return errno;
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(getpid() == 1 ? tryOwnProc() : EPERM);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

int tryNetwork() {
  if (unshare(CLONE_NEWNET) != 0) return errno;
  return raiseLoopback();
}

NamespaceSupport tryAll(uid_t user, gid_t group) {
  NamespaceSupport result;
  if (unshare(CLONE_NEWUSER) != 0) result.user = errno;
  if (result.user == 0) result.user = mapOwnIds(user, group);
  if (result.user != 0) {
    const int error = result.user;
    return {error, error, error, error, error, error};
  }
  result.ipc = unshare(CLONE_NEWIPC) == 0 ? 0 : errno;
  result.uts = unshare(CLONE_NEWUTS) == 0 ? 0 : errno;
  result.network = tryNetwork();
  result.pid = tryPid();
  result.mount = tryMount();
  return result;
}

bool take(Need need, int error, std::string_view label, Step step, const char* fatal,
          NamespacePosture& posture) {
  if (need == Need::kOff) return false;
  if (error == 0) return true;
  if (need == Need::kRequired) throw SetupError(step, error, fatal);
  posture.missing.push_back(label);
  return false;
}

Need strongest(const Namespaces& wanted) {
  Need need = wanted.user;
  for (const Kind& kind : kKinds) need = std::max(need, wanted.*kind.wanted);
  return need;
}

}  // namespace

NamespaceSupport probeNamespaces() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  Pipe report = makePipe();
  const pid_t child = fork();
  checked(Step::kProbe, child, "probe_fork_refused");
  if (child == 0) {
    // Maps are written by a dumpable process, which others of this user may look into: with nothing to take.
    const std::array keep = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, report.write.get()};
    closeAllBut(keep);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    const NamespaceSupport result = tryAll(user, group);
    const ssize_t written = write(report.write.get(), &result, sizeof result);
    _exit(written == sizeof result ? 0 : 1);
  }
  report.write.reset();
  NamespaceSupport result;
  ssize_t got;
  do {
    got = read(report.read.get(), &result, sizeof result);
  } while (got < 0 && errno == EINTR);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // A child that a filter killed at its first try tells as much as a refusal.
  if (got != sizeof result) return {EPERM, EPERM, EPERM, EPERM, EPERM, EPERM};
  return result;
}

bool anyWanted(const Namespaces& wanted) {
  return strongest(wanted) != Need::kOff;
}

NamespacePosture enterNamespaces(const Namespaces& wanted, const NamespaceSupport& support) {
  NamespacePosture posture;
  if (!anyWanted(wanted)) return posture;
  const bool user = take(strongest(wanted), support.user, "user_namespace_refused", Step::kUserNamespace,
                         "user_namespace_refused", posture);
  int flags = 0;
  for (const Kind& kind : kKinds) {
    posture.*kind.entered = take(wanted.*kind.wanted, support.*kind.support, kind.missing, Step::kNamespaces,
                                 "namespace_refused", posture);
    if (posture.*kind.entered) flags |= kind.flag;
  }
  if (!user) return posture;

  const uid_t ownUser = geteuid();
  const gid_t ownGroup = getegid();
  checked(Step::kUserNamespace, unshare(CLONE_NEWUSER), "user_namespace_refused");
  if (const int error = mapOwnIds(ownUser, ownGroup); error != 0) {
    throw SetupError(Step::kUserNamespace, error, "user_map_refused");
  }
  posture.user = true;
  checked(Step::kNamespaces, unshare(flags), "namespace_refused");
  if (posture.mount) {
    checked(Step::kNamespaces, mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr),
            "propagation_refused");
  }
  if (posture.network && wanted.loopback == Loopback::kUp) {
    if (const int error = raiseLoopback(); error != 0)
      throw SetupError(Step::kNamespaces, error, "loopback_refused");
  }
  return posture;
}

NamespacePosture enterNamespaces(const Namespaces& wanted) {
  return enterNamespaces(wanted, anyWanted(wanted) ? probeNamespaces() : NamespaceSupport{});
}

}  // namespace factionos::sandbox
