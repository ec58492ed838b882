// The launcher's table and profile, and the pty worker's.
#include <cerrno>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox/seccomp_eval.h"
#include "workers/launcher/policy.h"
#include "workers/launcher/roles.h"
#include "workers/pty/policy.h"
#include "workers/session/command_policy.h"
#include "workers/session/policy.h"

namespace factionos {
namespace {

TEST(Roles, AreRowsOfData) {
  ASSERT_NE(launcher::findRole(schema::Role::PTY), nullptr);
  EXPECT_EQ(launcher::findRole(schema::Role::PTY)->line, launcher::LineKind::kGiven);
  EXPECT_EQ(launcher::findRole(schema::Role::SESSION)->scope, launcher::ScopeKind::kWorkspace);
  EXPECT_EQ(launcher::findRole(schema::Role::UNSPECIFIED), nullptr);
  ASSERT_NE(launcher::findRole(schema::Role::CONTAINER), nullptr);
  EXPECT_EQ(launcher::findRole(schema::Role::CONTAINER)->scope, launcher::ScopeKind::kNone);
  ASSERT_NE(launcher::findRole(schema::Role::PROBE), nullptr);
  EXPECT_EQ(launcher::findRole(schema::Role::PROBE)->scope, launcher::ScopeKind::kProgram);
}

sandbox::Verdict verdictOf(const sandbox::Policy& policy, int call) {
  const auto value =
      sandbox::evaluate(sandbox::compile(policy.seccomp), sandbox::callData(call, {0, 0, 0, 0, 0, 0}));
  return sandbox::verdictOf(value.value()).value_or(sandbox::Verdict::killProcess());
}

TEST(LauncherPolicy, IsNoStricterThanWhatItStarts) {
  const sandbox::Policy launcher = launcher::policy(20, {});
  const sandbox::Policy session = session::policy({});
  session::CommandScope scope;
  scope.workspace = "/srv/x";
  scope.terminal = "/dev/pts/1";
  const sandbox::Policy command = session::commandPolicy(scope, sandbox::NamespacePosture(), 7);
  for (int call = 0; call < 470; ++call) {
    if (verdictOf(launcher, call) == sandbox::Verdict::allow()) continue;
    EXPECT_EQ(verdictOf(session, call), verdictOf(launcher, call)) << call;
    EXPECT_EQ(verdictOf(command, call), verdictOf(launcher, call)) << call;
  }
  EXPECT_EQ(launcher.memoryExecution, sandbox::MemoryExecution::kUnrestricted);
  EXPECT_EQ(launcher.files.scope, sandbox::FileScope::kUnrestricted);
}

// A layer above a mount would refuse it, or refuse moving files between directories below it.
TEST(LauncherPolicy, EntersNoLandlockLayerWhereSessionsMount) {
  sandbox::NamespaceSupport none;
  none.mount = EPERM;
  for (const sandbox::Policy& policy : {launcher::policy(20, {}), session::policy({})}) {
    EXPECT_EQ(policy.scopes.signals, sandbox::Need::kOff) << policy.name;
    EXPECT_EQ(policy.scopes.abstractSockets, sandbox::Need::kOff) << policy.name;
  }
  for (const sandbox::Policy& policy : {launcher::policy(20, none), session::policy(none)}) {
    EXPECT_EQ(policy.scopes.signals, sandbox::Need::kIfAvailable) << policy.name;
    EXPECT_EQ(policy.scopes.abstractSockets, sandbox::Need::kIfAvailable) << policy.name;
  }
  EXPECT_EQ(session::afterStartFiles(session::TreeEnds::kWithKeeper).scopes.signals,
            sandbox::Need::kIfAvailable);
  EXPECT_EQ(session::afterStartFiles(session::TreeEnds::kBySession).scopes.signals, sandbox::Need::kOff);
}

TEST(PtyPolicy, AllowsByListAndOpensNothing) {
  const sandbox::Policy policy = pty::policy();
  EXPECT_EQ(policy.files.scope, sandbox::FileScope::kListedOnly);
  EXPECT_TRUE(policy.files.rules.empty());
#ifndef FACTIONOS_SANITIZED
  for (const int call : {SYS_openat, SYS_open, SYS_execve, SYS_execveat, SYS_fork, SYS_clone, SYS_clone3,
                         SYS_socket, SYS_connect, SYS_ptrace, SYS_kill, SYS_unlink, SYS_mount, SYS_bpf,
                         SYS_prctl, SYS_rename, SYS_chmod}) {
    EXPECT_EQ(verdictOf(policy, call), sandbox::Verdict::trap()) << call;
  }
#endif
  for (const int call : {SYS_read, SYS_write, SYS_epoll_wait, SYS_sendmsg, SYS_recvmsg, SYS_close}) {
    EXPECT_EQ(verdictOf(policy, call), sandbox::Verdict::allow()) << call;
  }
}

}  // namespace
}  // namespace factionos
