// Kernels that have less than this one.
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness_parts.h"
#include "sandbox/seccomp.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::test {
namespace {

void writeFile(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  must(file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()), path);
  close(file);
}

// In a user namespace of its own, whose count of further ones of that kind is then set to 0: the kernel's own
// refusal. Where there is none to be had, nothing is left to do.
void forbidNamespaces(const char* kind) {
  if (!hasNamespaces()) return;
  const std::string user = std::to_string(getuid());
  const std::string group = std::to_string(getgid());
  must(unshare(CLONE_NEWUSER) == 0, "unshare");
  writeFile("/proc/self/setgroups", "deny");
  writeFile("/proc/self/uid_map", user + " " + user + " 1");
  writeFile("/proc/self/gid_map", group + " " + group + " 1");
  writeFile((std::string("/proc/sys/user/max_") + kind + "_namespaces").c_str(), "0");
}

void forbidLandlock() {
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  for (const int number : {444, 445, 446})
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0) == 0, "rule");
  must(seccomp_load(filter) == 0, "load");
}

// Nobody answers on it, and nobody calls what it hears of. It is a listener as long as a process holds it: a
// child, until this one ends.
void takeListener() {
  sandbox::SeccompPolicy policy;
  policy.unlisted = sandbox::Verdict::allow();
  policy.foreignEntry = sandbox::Verdict::allow();
  policy.rules = {sandbox::notify({"nobody's", {{SYS_acct, {}}}}, "test")};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  const pid_t parent = getpid();
  const int listener = sandbox::loadProgram(sandbox::compile(policy), sandbox::Listener::kWanted);
  must(listener >= 0, "listener");
  if (fork() != 0) return;
  must(dup2(listener, 0) == 0 && syscall(SYS_close_range, 1U, ~0U, 0U) == 0, "close_range");
  while (kill(parent, 0) == 0) usleep(10'000);
  _exit(0);
}

}  // namespace

void must(bool fact, const char* what) {
  if (fact) return;
  std::perror(what);
  _exit(99);
}

void takeAway(Kernel kernel) {
  if (kernel == Kernel::kNoUserNamespaces) forbidNamespaces("user");
  if (kernel == Kernel::kNoPidNamespaces) forbidNamespaces("pid");
  if (kernel == Kernel::kNoMountNamespaces) forbidNamespaces("mnt");
  if (kernel == Kernel::kNoLandlock) forbidLandlock();
  if (kernel == Kernel::kListenerTaken) takeListener();
  if (kernel == Kernel::kLandlock5) {
    forbidNamespaces("user");
    sandbox::testing::pretendAbi(5);
  }
}

bool hasNamespaces() {
  static const bool has = [] {
    const pid_t child = fork();
    // Some systems grant the user namespace and refuse what it is for.
    if (child == 0)
      _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
                ? 0
                : 1);
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return has;
}

}  // namespace factionos::test
