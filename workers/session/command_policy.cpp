#include "workers/session/command_policy.h"

#include <sys/resource.h>

#include "workers/session/command_calls.h"
#include "workers/session/mount_plan.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

using sandbox::Need;
namespace access = sandbox::access;

constexpr rlim_t kSlackTasks = 1024;  // what the user may start elsewhere before a session notices

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
  for (const std::string& path : scope.programPaths) {
    rules.push_back(allowPathIfPresent(path, access::kReadExec, "programs that the session profile lists"));
  }
  for (const std::string& path : scope.readPaths) {
    rules.push_back(allowPathIfPresent(path, access::kRead, "data that the session profile lists"));
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
  if (namespaces.mount) {
    rules.push_back(allowPath("/var/tmp", access::kReadWriteExec, "private; some tools know no other place"));
    rules.push_back(allowPath("/", access::kReadDir, "a root of its own: its listing tells nothing"));
  }
  return files;
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
  policy.denialLog = scope.denialLog;
  policy.seccomp = commandCalls(scope.network, namespaces, landlockAbi);
  policy.memoryExecution = sandbox::MemoryExecution::kUnrestricted;  // just-in-time compilers
  policy.traps = sandbox::Traps::kNone;                              // the program's own from exec on
  return policy;
}

std::vector<std::string_view> commandPosture(const CommandScope& scope,
                                             const sandbox::NamespacePosture& namespaces, int landlockAbi) {
  std::vector<std::string_view> labels = {"limits:watched"};
  if (scope.denialLog == sandbox::DenialLog::kPrograms) labels.push_back("denials:kernel_audit");
  if (scope.protectedDetail == ProtectedDetail::kCoarse) labels.push_back("protected_paths:coarse");
  if (!namespaces.mount || !namespaces.pid) labels.push_back("proc_shared");
  if (!namespaces.mount) labels.push_back("shm_shared");
  if (!namespaces.mount) labels.push_back("metadata:unguarded");
  if (mayUseUnixSockets(namespaces, landlockAbi)) labels.push_back("unix_sockets:workspace");
  if (!namespaces.ipc) labels.push_back("sysv_ipc:refused");
  if (!namespaces.pid && landlockAbi < sandbox::kAbiOfScopes) labels.push_back("signals:unscoped");
  if (scope.network == Network::kFull && landlockAbi < sandbox::kAbiOfScopes)
    labels.push_back("abstract_sockets:refused");
  if (scope.network == Network::kFull && landlockAbi < sandbox::kAbiOfPorts)
    labels.push_back("api_port:reachable");
  return labels;
}

std::vector<std::string_view> supervisionPosture(const CommandScope& scope,
                                                 const sandbox::NamespacePosture& namespaces,
                                                 Supervised supervised) {
  if (supervised == Supervised::kYes) return {"protected_paths:whole"};
  std::vector<std::string_view> labels = {"denials:unobserved"};
  labels.push_back(namespaces.mount ? "protected_paths:existing_only" : "protected_paths:none");
  if (namespaces.mount && scope.protectedLinks == ProtectedLinks::kSome)
    labels.push_back("protected_paths:links_replaceable");
  return labels;
}

}  // namespace factionos::session
