#include "workers/session/command_policy.h"

#include <array>
#include <cerrno>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/families.h"
#include "workers/session/mount_plan.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

using sandbox::Need;
namespace access = sandbox::access;
namespace families = sandbox::families;

constexpr int kAbiOfScopes = 6;
constexpr std::uint32_t kFastOpen = MSG_FASTOPEN;
constexpr rlim_t kSlackTasks = 1024;  // what the user may start elsewhere before a session notices

// AF_UNIX only where no socket of others is in sight: file sockets are hidden by a mount namespace, abstract
// ones by a network namespace or by Landlock's scope.
bool mayUseUnixSockets(const sandbox::NamespacePosture& namespaces, int landlockAbi) {
  return namespaces.mount && (namespaces.network || landlockAbi >= kAbiOfScopes);
}

std::vector<int> socketFamilies(const CommandScope& scope, const sandbox::NamespacePosture& namespaces,
                                int landlockAbi) {
  std::vector<int> allowed;
  if (mayUseUnixSockets(namespaces, landlockAbi)) allowed.push_back(AF_UNIX);
  if (scope.network != Network::kNone) allowed.insert(allowed.end(), {AF_INET, AF_INET6, AF_NETLINK});
  return allowed;
}

// Connects that Landlock does not see: TCP Fast Open connects within a send.
sandbox::Family fastOpen() {
  return {"fastOpen",
          {{SYS_sendto, {sandbox::masked(3, kFastOpen, kFastOpen)}},
           {SYS_sendmsg, {sandbox::masked(2, kFastOpen, kFastOpen)}},
           {SYS_sendmmsg, {sandbox::masked(3, kFastOpen, kFastOpen)}}}};
}

sandbox::FileRules files(const CommandScope& scope, const sandbox::NamespacePosture& namespaces) {
  using sandbox::allowPath;
  using sandbox::allowPathIfPresent;
  sandbox::FileRules files;
  auto& rules = files.rules;
  rules.push_back(allowPath(scope.workspace, access::kReadWriteExec, "the workspace"));
  rules.push_back(
      allowPath(scope.temporary, access::kReadWriteExec, "TMPDIR; builds execute what they make there"));
  if (!namespaces.mount)
    rules.push_back(allowPath(scope.home, access::kReadWriteExec, "HOME, empty and private"));
  for (const SystemDirectory& directory : systemDirectories()) {
    rules.push_back(allowPathIfPresent(std::string(directory.path), access::kReadExec, directory.reason));
  }
  for (const std::string& path : scope.readPaths) {
    rules.push_back(allowPathIfPresent(path, access::kReadExec, "listed by the session profile"));
  }
  for (const SystemFile& tree : systemFacts()) {
    rules.push_back(allowPathIfPresent(std::string(tree.path), access::kRead, tree.reason));
  }
  if (scope.network == Network::kFull) {
    for (const SystemFile& file : nameResolution()) {
      rules.push_back(allowPathIfPresent(std::string(file.path), access::kReadFile, file.reason));
    }
  }
  for (const SystemFile& device : devices()) {
    rules.push_back(allowPathIfPresent(std::string(device.path), access::kDevice, device.reason));
  }
  rules.push_back(allowPath(scope.terminal, access::kDevice, "its own terminal, and no other"));
  rules.push_back(allowPathIfPresent("/proc", access::kRead,
                                     "its own processes; others' are opaque to Landlock domains"));
  // Semaphores of libc live here and nowhere else. Without a namespace the directory is the machine's: files
  // are then reached by exact name only, it can't be listed.
  rules.push_back(allowPathIfPresent(
      "/dev/shm",
      namespaces.mount ? access::kReadWrite
                       : access::kReadFile | access::kWrite | access::kMakeReg | access::kRemoveFile,
      "shared memory and semaphores"));
  if (namespaces.mount)
    rules.push_back(allowPath("/", access::kReadDir, "a root of its own: its listing tells nothing"));
  return files;
}

sandbox::SeccompPolicy calls(const CommandScope& scope, const sandbox::NamespacePosture& namespaces,
                             int landlockAbi) {
  using sandbox::refuse;
  sandbox::SeccompPolicy policy;
  policy.unlisted = sandbox::Verdict::allow();
  policy.foreignEntry = sandbox::Verdict::fail(ENOSYS);
  policy.rules = {
      refuse(families::mounting(), EPERM, "a mount would show what is hidden, or hide what is guarded"),
      refuse(families::namespaceCalls(), EPERM, "a new user namespace brings every capability back"),
      refuse(families::cloneNamespaces(), EPERM, "the same by clone"),
      refuse(families::clone3(), ENOSYS, "its flags can't be read by a filter; libc falls back to clone"),
      refuse(families::ioUring(), ENOSYS, "a second way to every call; libraries fall back"),
      refuse(families::kernelSurface(), EPERM, "wide kernel interfaces that no build needs"),
      refuse(families::administration(), EPERM, "the machine's own affairs"),
      refuse(families::fileHandles(), EPERM, "opens files without walking a path"),
      refuse(families::terminalInjection(), EPERM, "types into the terminal of whoever shares it"),
      refuse(families::personalities(), EPERM, "changes what the kernel means by a call"),
      refuse(families::socketsBut(socketFamilies(scope, namespaces, landlockAbi)), EACCES,
             "the network profile's families alone"),
      refuse(families::newerThanKnown(), ENOSYS, "calls that nobody has judged yet"),
  };
  if (scope.network == Network::kFull) {
    policy.rules.push_back(refuse(fastOpen(), EOPNOTSUPP, "connects past Landlock's port rules"));
  }
  return policy;
}

std::vector<sandbox::Limit> limits(const CommandScope& scope, const sandbox::NamespacePosture& namespaces) {
  std::vector<sandbox::Limit> limits = {
      {RLIMIT_NOFILE, scope.limits.openFiles, "descriptors of each process"},
      {RLIMIT_FSIZE, scope.limits.fileBytes, "size of each file"},
      {RLIMIT_CPU, scope.limits.cpuSeconds, "of each process; the tree's sum is watched"},
  };
  if (namespaces.user) {
    limits.push_back(
        {RLIMIT_NPROC, scope.limits.processes, "processes of the tree: counted within its user namespace"});
  } else {
    // Everything that this user runs counts. The keeper enforces the cap; this keeps a fork bomb from
    // outrunning it.
    limits.push_back(
        {RLIMIT_NPROC, rlim_t{scope.userTasks} + scope.limits.processes + kSlackTasks, "a backstop"});
  }
  return limits;
}

}  // namespace

sandbox::Namespaces commandNamespaces(Network network, Namespaces use) {
  sandbox::Namespaces wanted;
  if (use == Namespaces::kForbidden) return wanted;
  wanted.user = Need::kIfAvailable;
  wanted.pid = Need::kIfAvailable;
  wanted.mount = Need::kIfAvailable;
  wanted.ipc = Need::kIfAvailable;
  wanted.uts = Need::kIfAvailable;
  if (network == Network::kNone) wanted.network = Need::kIfAvailable;
  if (network == Network::kLoopback) {
    wanted.network = Need::kRequired;
    wanted.loopback = sandbox::Loopback::kUp;
  }
  return wanted;
}

sandbox::Policy commandPolicy(const CommandScope& scope, const sandbox::NamespacePosture& namespaces,
                              int landlockAbi) {
  sandbox::Policy policy;
  policy.name = "command";
  policy.keep = scope.keep;
  policy.limits = limits(scope, namespaces);
  policy.namespaces = commandNamespaces(scope.network, Namespaces::kWherePossible);
  if (namespaces.mount) policy.mounts = mountPlan(scope, namespaces);
  policy.files = files(scope, namespaces);
  if (scope.network == Network::kFull && scope.apiPort != 0) {
    policy.tcp = {Need::kIfAvailable, {{0, 65535}}, sandbox::everyPortBut(scope.apiPort)};
  }
  policy.scopes = {Need::kIfAvailable, Need::kIfAvailable};
  policy.seccomp = calls(scope, namespaces, landlockAbi);
  policy.memoryExecution = sandbox::MemoryExecution::kUnrestricted;  // just-in-time compilers
  policy.traps = sandbox::Traps::kNone;                              // the program's own from exec on
  return policy;
}

std::vector<std::string_view> commandPosture(const CommandScope& scope,
                                             const sandbox::NamespacePosture& namespaces, int landlockAbi) {
  std::vector<std::string_view> labels = {"limits:watched"};
  labels.push_back(namespaces.mount ? "protected_paths:existing_only" : "protected_paths:none");
  if (scope.protectedLinks == ProtectedLinks::kSome) labels.push_back("protected_paths:links_replaceable");
  if (!namespaces.mount || !namespaces.pid) labels.push_back("proc_shared");
  if (!namespaces.mount) labels.push_back("shm_shared");
  if (!namespaces.pid && landlockAbi < kAbiOfScopes) labels.push_back("signals:unscoped");
  if (scope.network == Network::kFull && landlockAbi < kAbiOfScopes)
    labels.push_back("abstract_sockets:refused");
  if (scope.network == Network::kFull && landlockAbi < 4) labels.push_back("api_port:reachable");
  return labels;
}

}  // namespace factionos::session
