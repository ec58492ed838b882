// What Landlock keeps out of reach besides files: TCP ports, abstract sockets and signals.
#include <cerrno>
#include <csignal>
#include <cstddef>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using testing::commandPolicy;
using testing::inChild;
using testing::Notes;
using testing::Outcome;
using testing::result;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

int bindErrno(std::uint16_t port) {
  const Fd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  return result(bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

int connectErrno(std::uint16_t port) {
  const Fd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  return result(connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

Fd listenAnywhere(std::uint16_t& port) {
  Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  listen(listener.get(), 8);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return listener;
}

// Before any other layer, as processes of ours enter it above a command's own.
TEST(LandlockReach, ALayerThatOnlyScopesLeavesMovesBetweenDirectories) {
  if (landlockAbi() < 6) ABSENT("Landlock ABI 6");
  std::string root = "/tmp/factionos-denial-XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  ASSERT_EQ(chmod(root.c_str(), 0777), 0);  // the child is another user
  const Outcome outcome = inChild([&root](Notes& notes) {
    const std::string from = root + "/a";
    const std::string to = root + "/b";
    mkdir(from.c_str(), 0700);
    mkdir(to.c_str(), 0700);
    close(open((from + "/file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    LandlockPolicy scoped;
    scoped.files.scope = FileScope::kUnrestricted;
    restrictByLandlock(scoped);
    LandlockPolicy listed;
    listed.scopes = {Need::kOff, Need::kOff};
    listed.files.rules.push_back(allowPath(root, access::kReadWrite, "test"));
    restrictByLandlock(listed);
    notes.numbers[0] = result(rename((from + "/file").c_str(), (to + "/file").c_str()));
    notes.numbers[1] = result(link((to + "/file").c_str(), (from + "/file").c_str()));
    unlink((from + "/file").c_str());
    unlink((to + "/file").c_str());
    rmdir(from.c_str());
    rmdir(to.c_str());
    return 0;
  });
  rmdir(root.c_str());
  EXPECT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
}

Policy networkPolicy(TcpRules tcp) {
  Policy policy = commandPolicy();
  std::erase_if(policy.seccomp.rules,
                [](const SeccompRule& rule) { return rule.family.name == "socketsBut"; });
  policy.tcp = std::move(tcp);
  return policy;
}

TEST(Landlock, TcpPortsAreThoseListed) {
  if (landlockAbi() < 4) ABSENT("Landlock below ABI 4");
  std::uint16_t open = 0;
  std::uint16_t closed = 0;
  const Fd first = listenAnywhere(open);
  const Fd second = listenAnywhere(closed);
  const Outcome outcome = inChild([open, closed](Notes& notes) {
    notes.numbers[0] = connectErrno(closed);
    enter(networkPolicy({Need::kRequired, {{0, 0}}, {{open, open}}}));
    notes.numbers[1] = connectErrno(open);
    notes.numbers[2] = connectErrno(closed);
    notes.numbers[3] = bindErrno(0);
    notes.numbers[4] = bindErrno(43210);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
  EXPECT_EQ(outcome.notes.numbers[2], EACCES);
  EXPECT_EQ(outcome.notes.numbers[3], 0);
  EXPECT_EQ(outcome.notes.numbers[4], EACCES);
}

TEST(Landlock, EveryPortButOne) {
  if (landlockAbi() < 4) ABSENT("Landlock below ABI 4");
  std::uint16_t open = 0;
  std::uint16_t own = 0;
  const Fd first = listenAnywhere(open);
  const Fd second = listenAnywhere(own);
  const Outcome outcome = inChild([open, own](Notes& notes) {
    enter(networkPolicy({Need::kRequired, {{0, 65535}}, everyPortBut(own)}));
    notes.numbers[0] = connectErrno(open);
    notes.numbers[1] = connectErrno(own);
    notes.numbers[2] = bindErrno(0);
    notes.numbers[3] = bindErrno(43210);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], EACCES);
  EXPECT_EQ(outcome.notes.numbers[2], 0);
  EXPECT_EQ(outcome.notes.numbers[3], 0);
  EXPECT_EQ(everyPortBut(0).size(), 1U);
  EXPECT_EQ(everyPortBut(65535).size(), 1U);
}

// Every port needs no rule of its own; what the other direction lists holds all the same.
TEST(Landlock, EveryPortToConnectToAndNoneToListenOn) {
  if (landlockAbi() < 4) ABSENT("Landlock below ABI 4");
  std::uint16_t open = 0;
  const Fd first = listenAnywhere(open);
  const Outcome outcome = inChild([open](Notes& notes) {
    const Posture posture = enter(networkPolicy({Need::kRequired, {}, {{0, 65535}}}));
    notes.numbers[0] = posture.landlock.tcpEnforced ? 1 : 0;
    notes.numbers[1] = connectErrno(open);
    notes.numbers[2] = bindErrno(0);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 1);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
  EXPECT_EQ(outcome.notes.numbers[2], EACCES);
}

int connectAbstract(const std::string& name) {
  const Fd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return result(connect(made.get(), reinterpret_cast<sockaddr*>(&address), size));
}

TEST(Landlock, P20_AnAbstractSocketOutsideIsOutOfReach) {
  if (landlockAbi() < 6) ABSENT("Landlock below ABI 6");
  const std::string name = "factionos-test-" + std::to_string(getpid());
  const Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 4), 0);
  const Outcome outcome = inChild([&name](Notes& notes) {
    notes.numbers[0] = connectAbstract(name);
    enter(networkPolicy({}));
    notes.numbers[1] = connectAbstract(name);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], EPERM);
}

TEST(Landlock, ASignalOutsideIsDeniedAndInsideWorks) {
  if (landlockAbi() < 6) ABSENT("Landlock below ABI 6");
  const Outcome outcome = inChild([](Notes& notes) {
    const pid_t outside = fork();
    if (outside == 0) {
      while (true) pause();
    }
    notes.numbers[0] = result(::kill(outside, 0));
    const pid_t inside = fork();
    if (inside == 0) {
      enter(commandPolicy());
      notes.numbers[1] = result(::kill(outside, SIGKILL));
      const pid_t own = fork();
      if (own == 0) {
        while (true) pause();
      }
      notes.numbers[2] = result(::kill(own, SIGKILL));
      waitpid(own, nullptr, 0);
      _exit(0);
    }
    waitpid(inside, nullptr, 0);
    notes.numbers[3] = waitpid(outside, nullptr, WNOHANG);  // 0: the signal did not arrive
    ::kill(outside, SIGKILL);
    waitpid(outside, nullptr, 0);
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 0);
  EXPECT_EQ(outcome.notes.numbers[1], EPERM);
  EXPECT_EQ(outcome.notes.numbers[2], 0);
  EXPECT_EQ(outcome.notes.numbers[3], 0);
}

}  // namespace
}  // namespace factionos::sandbox
