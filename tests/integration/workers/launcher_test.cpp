// What the launcher starts and what it refuses.
#include <algorithm>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "protocol/rpc/descriptor.h"

namespace factionos::test {
namespace {

std::string startRole(Broker& broker, schema::Role role) {
  rpc::SocketPair pair = rpc::socketPair();
  auto request = broker.launcher.startRequest();
  request.setRole(role);
  request.setLine(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.second)));
  return broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); }));
}

std::string startSessionIn(Broker& broker, const std::string& path) {
  auto request = broker.launcher.startSessionRequest();
  request.initScope().setWorkspace(path.c_str());
  return broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); }));
}

TEST(Launcher, StartsTheRolesOfItsTableAlone) {
  Broker broker;
  for (const schema::Role role :
       {schema::Role::UNSPECIFIED, schema::Role::SESSION, static_cast<schema::Role>(99)}) {
    EXPECT_EQ(startRole(broker, role), "role_unknown/role_table") << static_cast<int>(role);
  }
  for (const schema::Role role : {schema::Role::FILE, schema::Role::GIT})
    EXPECT_EQ(startRole(broker, role), "scope_refused/role_table") << static_cast<int>(role);
  EXPECT_EQ(startRole(broker, schema::Role::PTY), "");
}

TEST(Launcher, ALineIsASocketAndAScopeIsTheRoles) {
  Broker broker;
  auto request = broker.launcher.startRequest();
  request.setRole(schema::Role::PTY);
  request.setLine(
      rpc::carryDescriptor<schema::Descriptor>(rpc::OwnFd(open("/dev/null", O_RDWR | O_CLOEXEC))));
  EXPECT_EQ(broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); })),
            "line_refused/stream_socket");
  auto scoped = broker.launcher.startRequest();
  scoped.setRole(schema::Role::PTY);
  scoped.initScope().setWorkspace("/tmp");
  EXPECT_EQ(broker.wait(scoped.send().then([](auto&& got) { return denialText(got.getDenial()); })),
            "scope_refused/role_table");
  auto none = broker.launcher.startSessionRequest();
  EXPECT_EQ(broker.wait(none.send().then([](auto&& got) { return denialText(got.getDenial()); })),
            "scope_refused/role_table");
}

TEST(Launcher, AFileWorkerIsStartedInAWorkspaceThatMayBeOneAlone) {
  Broker broker;
  const auto startIn = [&](const char* path) {
    auto pair = rpc::socketPair();
    auto request = broker.launcher.startRequest();
    request.setRole(schema::Role::FILE);
    request.setLine(rpc::carryDescriptor<schema::Descriptor>(kj::mv(pair.second)));
    if (path != nullptr) request.initScope().setWorkspace(path);
    return broker.wait(request.send().then([](auto&& got) { return denialText(got.getDenial()); }));
  };
  EXPECT_EQ(startIn(nullptr), "scope_refused/role_table");
  EXPECT_EQ(startIn("/"), "workspace_refused/root");
  EXPECT_EQ(startIn(broker.world.home.c_str()), "workspace_refused/is_home");
  EXPECT_EQ(startIn(broker.world.workspace.c_str()), "");
}

TEST(Launcher, RefusesWorkspacesThatAreNobodys) {
  Broker broker;
  EXPECT_EQ(startSessionIn(broker, "/"), "workspace_refused/root");
  EXPECT_EQ(startSessionIn(broker, "/usr/share"), "workspace_refused/system_directory");
  EXPECT_EQ(startSessionIn(broker, "/etc"), "workspace_refused/system_directory");
  // Which rule comes first depends on where the home of whoever runs the tests lies.
  const std::string var = startSessionIn(broker, "/var");
  EXPECT_TRUE(var == "workspace_refused/system_directory" || var == "workspace_refused/user_home") << var;
  EXPECT_EQ(startSessionIn(broker, "/run"), "workspace_refused/socket_directory");
  EXPECT_EQ(startSessionIn(broker, "relative"), "workspace_refused/bad_path");
  EXPECT_EQ(startSessionIn(broker, broker.world.workspace + "/absent"), "workspace_refused/not_found");
  EXPECT_EQ(startSessionIn(broker, broker.world.home), "workspace_refused/is_home");
  ASSERT_EQ(mkdir((broker.world.home + "/state").c_str(), 0700), 0);
  EXPECT_EQ(startSessionIn(broker, broker.world.home + "/state"), "workspace_refused/inside_home");
  const std::string parent = broker.world.home.substr(0, broker.world.home.rfind('/'));
  EXPECT_EQ(startSessionIn(broker, parent), "workspace_refused/contains_home");
  ASSERT_EQ(symlink(broker.world.workspace.c_str(), (parent + "/link").c_str()), 0);
  EXPECT_EQ(startSessionIn(broker, parent + "/link"), "workspace_refused/symlink");
  EXPECT_EQ(startSessionIn(broker, broker.world.workspace), "");
}

TEST(Launcher, TellsHowAWorkerEnded) {
  Broker broker;
  auto worker = broker.startPty();
  broker.wait(KJ_ASSERT_NONNULL(worker.worker).killRequest().send().ignoreResult());
  auto exit = broker.wait(
      KJ_ASSERT_NONNULL(worker.worker).exitedRequest().send().then([](auto&& got) { return kj::mv(got); }));
  EXPECT_EQ(exit.getExit().getSignal(), SIGKILL);
  EXPECT_EQ(exit.getExit().getSyscall(), -1);
}

// Asked while the kill is still on its way: a process that has been killed takes no stop any more, so it does
// not matter how long it needs to go.
TEST(Launcher, TellsAWorkerThatLivesFromOneThatIsGoing) {
  Broker broker;
  const auto end = [&broker](schema::Worker::Client& worker) {
    return broker.wait(worker.endRequest().send().then([](auto&& got) { return kj::mv(got); }));
  };
  auto living = broker.startPty();
  const auto ended = end(KJ_ASSERT_NONNULL(living.worker));
  EXPECT_TRUE(ended.getLived());
  EXPECT_EQ(ended.getExit().getSignal(), SIGKILL);
  EXPECT_FALSE(end(KJ_ASSERT_NONNULL(living.worker)).getLived());

  auto going = broker.startPty();
  auto killed = KJ_ASSERT_NONNULL(going.worker).killRequest().send().ignoreResult();
  EXPECT_FALSE(end(KJ_ASSERT_NONNULL(going.worker)).getLived());
  broker.wait(kj::mv(killed));
}

TEST(Launcher, AWorkerWhoseLineIsClosedEndsByItself) {
  Broker broker;
  auto worker = broker.startPty();
  worker.pty = nullptr;
  worker.line = nullptr;
  auto exit = broker.wait(
      KJ_ASSERT_NONNULL(worker.worker).exitedRequest().send().then([](auto&& got) { return kj::mv(got); }));
  EXPECT_EQ(exit.getExit().which(), schema::WorkerExit::CODE);
  EXPECT_EQ(exit.getExit().getCode(), 0);
}

// The second command finds a supervisor that was started before anybody knew of it.
TEST(Launcher, ASpareSupervisorIsTakenAndOneThatDiedIsNotMissed) {
  Broker broker;
  const auto spare = [&broker]() {
    pid_t found = 0;
    for (int i = 0; i < 500 && found == 0; ++i) {
      for (const pid_t child : childrenOf(broker.launcherPid)) {
        if (nameOf(child) == "spare") found = child;
      }
      if (found == 0) broker.wait(broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
    }
    return found;
  };
  for (const pid_t child : childrenOf(broker.launcherPid))  // it may still be asking the kernel
    EXPECT_NE(nameOf(child), "spare") << "nobody has run anything yet";
  EXPECT_EQ(broker.run(argv({"true"})).code, 0);
  const pid_t first = spare();
  ASSERT_NE(first, 0);
  const auto running = broker.start(shell("echo ready; read go"));
  running->expectOutput("ready");
  EXPECT_EQ(nameOf(first), "session");
  running->kill();
  running->finish();

  const pid_t second = spare();
  ASSERT_NE(second, first);
  kill(second, SIGKILL);
  EXPECT_EQ(broker.run(argv({"true"})).code, 0) << "not even noticed yet, perhaps";
  kill(spare(), SIGKILL);
  for (int i = 0; i < 500 && !childrenOf(broker.launcherPid).empty(); ++i)
    broker.wait(broker.loop.timer().afterDelay(10 * kj::MILLISECONDS));
  EXPECT_EQ(broker.run(argv({"true"})).code, 0) << "noticed: nobody hands it out";
}

TEST(Launcher, AsksTheKernelOnce) {
  Broker broker;
  auto answer =
      broker.wait(broker.launcher.supportRequest().send().then([](auto&& got) { return kj::mv(got); }));
  EXPECT_TRUE(answer.getSupport().getSeccomp());
  EXPECT_TRUE(answer.getSupport().getPty());
  EXPECT_GE(answer.getSupport().getLandlockAbi(), 1U);
}

// Runs an executable of ours as a person would.
std::pair<int, std::string> runByHand(const std::string& name) {
  int output[2];
  EXPECT_EQ(pipe(output), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(output[1], STDERR_FILENO);
    for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
    execl((std::string(FACTIONOS_LIBEXEC) + "/" + name).c_str(), name.c_str(), nullptr);
    _exit(99);
  }
  close(output[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = read(output[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(output[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

TEST(Launcher, NoWorkerStartsByHand) {
  for (const char* name : {"launcher", "session", "pty", "container", "probe"}) {
    const auto [status, text] = runByHand(name);
    EXPECT_EQ(status, 2) << name;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

}  // namespace
}  // namespace factionos::test
