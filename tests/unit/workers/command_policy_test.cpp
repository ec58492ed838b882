// What a command may do: its policy, its mounts, and what is said of them.
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox/seccomp_eval.h"
#include "workers/session/command_policy.h"
#include "workers/session/keeper_policy.h"
#include "workers/session/mount_plan.h"
#include "workers/session/policy.h"
#include "workers/session/system_paths.h"

namespace factionos::session {
namespace {

using testing::UnorderedElementsAre;

CommandScope scopeOf(Network network) {
  CommandScope scope;
  scope.workspace = "/srv/project";
  scope.temporary = "/tmp";
  scope.home = "/tmp/.home";
  scope.terminal = "/dev/pts/7";
  scope.network = network;
  return scope;
}

sandbox::NamespacePosture everyNamespace() {
  sandbox::NamespacePosture posture;
  posture.user = posture.pid = posture.mount = posture.network = posture.ipc = posture.uts = true;
  return posture;
}

int verdictOf(const sandbox::Policy& policy, int call, std::initializer_list<std::uint64_t> arguments) {
  const auto program = sandbox::compile(policy.seccomp);
  const auto value = sandbox::evaluate(program, sandbox::callData(call, arguments));
  const auto verdict = value ? sandbox::verdictOf(*value) : std::nullopt;
  EXPECT_TRUE(verdict.has_value());
  return verdict && verdict->kind == sandbox::Verdict::Kind::kAllow ? 0 : verdict ? verdict->error : -1;
}

TEST(CommandPolicy, SocketsFollowTheNetworkProfile) {
  struct Row {
    Network network;
    bool namespaces;
    std::uint64_t family;
    int expected;
  };
  for (const Row& row :
       {Row{Network::kNone, true, AF_UNIX, 0}, Row{Network::kNone, false, AF_UNIX, EACCES},
        Row{Network::kNone, true, AF_INET, EACCES}, Row{Network::kNone, false, AF_INET6, EACCES},
        Row{Network::kLoopback, true, AF_INET, 0}, Row{Network::kFull, false, AF_INET6, 0},
        Row{Network::kFull, false, AF_UNIX, EACCES}, Row{Network::kFull, true, AF_PACKET, EACCES},
        Row{Network::kFull, true, AF_VSOCK, EACCES}, Row{Network::kFull, true, AF_ALG, EACCES}}) {
    const auto posture = row.namespaces ? everyNamespace() : sandbox::NamespacePosture();
    const sandbox::Policy policy = commandPolicy(scopeOf(row.network), posture, 7);
    EXPECT_EQ(verdictOf(policy, SYS_socket, {row.family, SOCK_STREAM, 0}), row.expected) << row.family;
    EXPECT_EQ(verdictOf(policy, SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}), 0);
  }
}

TEST(CommandPolicy, UnixSocketsNeedTheAbstractOnesOfOthersOutOfReach) {
  sandbox::NamespacePosture posture = everyNamespace();
  posture.network = false;
  EXPECT_EQ(
      verdictOf(commandPolicy(scopeOf(Network::kFull), posture, 5), SYS_socket, {AF_UNIX, SOCK_STREAM, 0}),
      EACCES);
  EXPECT_EQ(
      verdictOf(commandPolicy(scopeOf(Network::kFull), posture, 6), SYS_socket, {AF_UNIX, SOCK_STREAM, 0}),
      0);
}

TEST(CommandPolicy, TerminalInjectionIsRefusedOn32Bits) {
  const sandbox::Policy policy = commandPolicy(scopeOf(Network::kNone), everyNamespace(), 7);
  EXPECT_EQ(verdictOf(policy, SYS_ioctl, {0, 0x5412, 0}), EPERM);
  EXPECT_EQ(verdictOf(policy, SYS_ioctl, {0, 0x100005412ULL, 0}), EPERM);
  EXPECT_EQ(verdictOf(policy, SYS_ioctl, {0, 0x541c, 0}), EPERM);
  EXPECT_EQ(verdictOf(policy, SYS_ioctl, {0, 0x5413, 0}), 0);
}

TEST(CommandPolicy, OrdinaryCallsPass) {
  const sandbox::Policy policy = commandPolicy(scopeOf(Network::kNone), everyNamespace(), 7);
  for (const int call : {SYS_openat, SYS_execve, SYS_execveat, SYS_clone, SYS_fork, SYS_kill, SYS_ptrace,
                         SYS_mmap, SYS_chmod, SYS_prctl}) {
    EXPECT_EQ(verdictOf(policy, call, {0, 0, 0}), 0) << call;
  }
}

TEST(CommandPolicy, EveryRuleHasAReason) {
  for (const sandbox::Policy& policy : {commandPolicy(scopeOf(Network::kFull), everyNamespace(), 7),
                                        session::policy({}), keeperPolicy({0, 1, 2})}) {
    for (const auto& rule : policy.seccomp.rules)
      EXPECT_FALSE(rule.reason.empty()) << policy.name << rule.family.name;
    for (const auto& rule : policy.files.rules) EXPECT_FALSE(rule.reason.empty()) << policy.name << rule.path;
    for (const auto& limit : policy.limits) EXPECT_FALSE(limit.reason.empty()) << policy.name;
  }
}

TEST(CommandPolicy, FilesAreTheListedOnes) {
  const sandbox::Policy policy = commandPolicy(scopeOf(Network::kNone), sandbox::NamespacePosture(), 7);
  EXPECT_EQ(policy.files.scope, sandbox::FileScope::kListedOnly);
  for (const auto& rule : policy.files.rules) {
    const bool writable = !(rule.access & sandbox::access::kWriteFile).empty();
    if (!writable) continue;
    EXPECT_TRUE(rule.path == "/srv/project" || rule.path == "/tmp" || rule.path == "/tmp/.home" ||
                rule.path.starts_with("/dev/"))
        << rule.path;
    EXPECT_NE(rule.path, "/dev");
    EXPECT_NE(rule.path, "/dev/pts");
  }
}

TEST(CommandPolicy, WithoutNamespacesNothingIsMountedAndTheForkCapIsABackstop) {
  EXPECT_TRUE(commandPolicy(scopeOf(Network::kNone), sandbox::NamespacePosture(), 7).mounts.empty());
  CommandScope scope = scopeOf(Network::kNone);
  scope.userTasks = 500;
  scope.limits.processes = 10;
  const auto capOf = [](const sandbox::Policy& policy) {
    const auto limit = std::ranges::find(policy.limits, RLIMIT_NPROC, &sandbox::Limit::resource);
    return limit->value;
  };
  EXPECT_GT(capOf(commandPolicy(scope, sandbox::NamespacePosture(), 7)), 510U);
  EXPECT_EQ(capOf(commandPolicy(scope, everyNamespace(), 7)), 10U);
}

TEST(MountPlan, GuardsComeAfterTheWorkspaceAndThePivotLast) {
  CommandScope scope = scopeOf(Network::kNone);
  scope.protectedPaths = {{".git", Guard::kMountPoint}, {".git/hooks", Guard::kReadOnly}};
  const auto plan = mountPlan(scope, everyNamespace());
  const auto at = [&plan](const std::string& target) {
    return std::ranges::find(plan, target, &sandbox::MountStep::target) - plan.begin();
  };
  EXPECT_LT(at("/tmp"), at("/srv/project"));
  EXPECT_LT(at("/srv/project"), at("/srv/project/.git"));
  EXPECT_LT(at("/srv/project/.git"), at("/srv/project/.git/hooks"));
  EXPECT_EQ(plan[static_cast<std::size_t>(at("/srv/project/.git"))].writable, sandbox::Writable::kYes);
  EXPECT_EQ(plan[static_cast<std::size_t>(at("/srv/project/.git/hooks"))].writable, sandbox::Writable::kNo);
  EXPECT_EQ(plan.front().kind, sandbox::MountStep::Kind::kNewRoot);
  EXPECT_EQ(plan.back().kind, sandbox::MountStep::Kind::kPivotRoot);
  for (const auto& step : plan) EXPECT_NE(step.target, "/dev/ptmx");
}

TEST(CommandPosture, SaysWhatIsNotThere) {
  using testing::Contains;
  EXPECT_THAT(commandPosture(scopeOf(Network::kNone), everyNamespace(), 7),
              UnorderedElementsAre("limits:watched", "unix_sockets:workspace"));
  EXPECT_THAT(supervisionPosture(scopeOf(Network::kNone), everyNamespace(), Supervised::kYes),
              UnorderedElementsAre("protected_paths:whole"));
  EXPECT_THAT(supervisionPosture(scopeOf(Network::kNone), everyNamespace(), Supervised::kNo),
              UnorderedElementsAre("protected_paths:existing_only", "denials:unobserved"));
  EXPECT_THAT(supervisionPosture(scopeOf(Network::kNone), sandbox::NamespacePosture(), Supervised::kNo),
              UnorderedElementsAre("protected_paths:none", "denials:unobserved"));
  const auto poor = commandPosture(scopeOf(Network::kFull), sandbox::NamespacePosture(), 3);
  for (const char* label : {"proc_shared", "shm_shared", "signals:unscoped", "api_port:reachable",
                            "metadata:unguarded", "sysv_ipc:refused"}) {
    EXPECT_THAT(poor, Contains(label));
  }
}

std::set<std::string_view> everyLabel() {
  std::set<std::string_view> labels = {"proc_mount_refused"};
  const auto add = [&labels](const std::vector<std::string_view>& more) {
    labels.insert(more.begin(), more.end());
  };
  const sandbox::NamespaceSupport nothing{EPERM, EPERM, EPERM, EPERM, EPERM, EPERM};
  add(sandbox::enterNamespaces(commandNamespaces(Network::kNone, Namespaces::kWherePossible), nothing)
          .missing);
  for (const Network network : {Network::kNone, Network::kLoopback, Network::kFull}) {
    CommandScope scope = scopeOf(network);
    scope.protectedLinks = ProtectedLinks::kSome;
    scope.apiPort = 1;
    for (unsigned kinds = 0; kinds < 32; ++kinds) {
      sandbox::NamespacePosture posture;
      posture.user = kinds != 0;
      posture.pid = (kinds & 1U) != 0;
      posture.mount = (kinds & 2U) != 0;
      posture.network = (kinds & 4U) != 0;
      posture.ipc = (kinds & 8U) != 0;
      posture.uts = (kinds & 16U) != 0;
      for (int abi = 1; abi < 8; ++abi) {
        add(commandPosture(scope, posture, abi));
        for (const Supervised supervised : {Supervised::kNo, Supervised::kYes})
          add(supervisionPosture(scope, posture, supervised));
        const sandbox::Policy policy = commandPolicy(scope, posture, abi);
        add(sandbox::missingAt(abi, {policy.files, policy.tcp, policy.scopes}));
      }
    }
  }
  return labels;
}

TEST(CommandPosture, EveryLabelIsInTheOperatorsList) {
  std::ifstream file(FACTIONOS_SOURCE_DIR "/docs/operating.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto labels = everyLabel();
  EXPECT_GT(labels.size(), 20U);
  for (const std::string_view label : labels) {
    EXPECT_NE(text.find("`" + std::string(label) + "`"), std::string::npos) << label;
  }
}

TEST(SystemPaths, NoSocketDirectoryIsGranted) {
  for (const SystemDirectory& directory : systemDirectories()) {
    for (const char* sockets : {"/run", "/var/run", "/tmp", "/var/lib"}) {
      EXPECT_FALSE(isWithin(directory.path, sockets) || isWithin(sockets, directory.path)) << directory.path;
    }
  }
  for (const SystemFile& file : systemFacts()) EXPECT_TRUE(isWithin(file.path, "/sys")) << file.path;
  // Below /run single files alone, granted with rights that hold for files only.
  const sandbox::Policy policy = commandPolicy(scopeOf(Network::kFull), sandbox::NamespacePosture(), 7);
  for (const auto& rule : policy.files.rules) {
    if (!isWithin(rule.path, "/run")) continue;
    EXPECT_EQ(rule.access, sandbox::access::kReadFile) << rule.path;
  }
}

}  // namespace
}  // namespace factionos::session
