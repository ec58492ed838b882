#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/adopted.h"
#include "broker/profile.h"
#include "sandbox/enter.h"
#include "sandbox/events.h"
#include "workers/launcher/policy.h"
#include "workers/pty/policy.h"
#include "workers/session/policy.h"

namespace factionos::test {
namespace {

constexpr uid_t kOrdinary = 54321;
constexpr int kHome = 5;
constexpr int kChildren = 6;

// How an act ended inside of a profile.
struct Ended {
  int error = -1;    // errno of the act, 0 if it worked; -1 if the process did not come back from it
  int signal = 0;    // that ended the process
  int syscall = -1;  // that the profile's trap reported
};

using Act = std::function<long()>;  // below zero: failed, errno tells

void report(int fd, const void* data, std::size_t size) {
  (void)!::write(fd, data, size);
}

// In a child of its own: an ordinary user, the descriptors that a worker has, then the profile (or none, as
// the control), then the act.
Ended tryInside(const std::function<std::optional<sandbox::Policy>()>& profile, const Act& act) {
  int events[2];
  int results[2];
  EXPECT_EQ(::pipe(events) + ::pipe(results), 0);
  char folder[] = "/tmp/factionos-profile.XXXXXX";
  EXPECT_NE(::mkdtemp(folder), nullptr);
  EXPECT_TRUE(::geteuid() != 0 || ::chown(folder, kOrdinary, kOrdinary) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setresgid(kOrdinary, kOrdinary, kOrdinary) != 0 ||
                             ::setresuid(kOrdinary, kOrdinary, kOrdinary) != 0))
      ::_exit(90);
    const int home = ::open(folder, O_PATH | O_DIRECTORY);
    const int children = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    // High numbers first, so that nothing is overwritten before it is copied.
    const int from[] = {results[1], ::socket(AF_UNIX, SOCK_STREAM, 0), events[1], home, children};
    int high[5];
    for (int i = 0; i < 5; ++i) high[i] = ::fcntl(from[i], F_DUPFD, 100);
    for (int i = 0; i < 5; ++i) ::dup2(high[i], 2 + i);
    const auto policy = profile();
    try {
      if (policy) sandbox::enter(*policy);
    } catch (const std::exception&) {
      ::_exit(91);
    }
    errno = 0;
    const long value = act();
    const int error = value < 0 ? errno : 0;
    report(2, &error, sizeof error);
    ::_exit(0);
  }
  ::close(events[1]);
  ::close(results[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::filesystem::remove_all(folder);
  Ended ended;
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  EXPECT_FALSE(WIFEXITED(status) && (WEXITSTATUS(status) == 90 || WEXITSTATUS(status) == 91))
      << "the profile could not be entered";
  (void)!::read(results[0], &ended.error, sizeof ended.error);
  sandbox::EventBytes bytes{};
  if (::read(events[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
    const auto event = sandbox::parseEvent(bytes);
    if (event && event->code == sandbox::EventCode::kTrapped)
      ended.syscall = static_cast<int>(event->numbers[0]);
  }
  ::close(events[0]);
  ::close(results[0]);
  return ended;
}

std::optional<sandbox::Policy> none() {
  return std::nullopt;
}
std::optional<sandbox::Policy> brokerProfile() {
  return broker::profile(kHome, kChildren, {2, 3, 4, kHome, kChildren});
}
// fd 2 carries the result here; the worker's own list holds 0 to 4.
std::optional<sandbox::Policy> ptyProfile() {
  return pty::policy();
}
std::optional<sandbox::Policy> launcherProfile() {
  return launcher::policy(kHome, {});
}
std::optional<sandbox::Policy> sessionProfile() {
  return session::policy({});
}

long openPasswd() {
  return ::open("/etc/passwd", O_RDONLY);
}
long makeInHome() {
  return ::openat(kHome, "state", O_RDWR | O_CREAT, 0600);
}
long readHome() {
  return ::openat(kHome, ".", O_RDONLY | O_DIRECTORY);
}
long internet() {
  return ::socket(AF_INET, SOCK_STREAM, 0);
}
long execute() {
  const char* argv[] = {"true", nullptr};
  return ::execve("/bin/true", const_cast<char* const*>(argv), nullptr);
}
long forkOne() {
  const long pid = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) ::_exit(0);
  return pid;
}
long traceMe() {
  return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
}
long uring() {
  io_uring_params params{};
  return ::syscall(SYS_io_uring_setup, 2, &params);
}
long keys() {
  return ::syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, -3, 1);
}
long pair() {
  int fds[2];
  return ::socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}

TEST(BrokerProfile, FilesBelowTheHomeAlone) {
  EXPECT_EQ(tryInside(none, openPasswd).error, 0) << "control";
  EXPECT_EQ(tryInside(brokerProfile, openPasswd).error, EACCES);
  EXPECT_EQ(tryInside(brokerProfile, makeInHome).error, 0);
  EXPECT_EQ(tryInside(brokerProfile, readHome).error, 0);
}

TEST(BrokerProfile, NoProgramNoProcessNoTracing) {
  EXPECT_EQ(tryInside(none, forkOne).error, 0) << "control";
  EXPECT_EQ(tryInside(none, traceMe).error, 0) << "control";
  EXPECT_EQ(tryInside(brokerProfile, execute).signal, SIGSYS);
  EXPECT_EQ(tryInside(brokerProfile, forkOne).signal, SIGSYS);
  EXPECT_EQ(tryInside(brokerProfile, traceMe).signal, SIGSYS);
}

TEST(BrokerProfile, NoSocketButThoseBetweenProcesses) {
  EXPECT_EQ(tryInside(none, internet).error, 0) << "control";
  EXPECT_EQ(tryInside(brokerProfile, internet).signal, SIGSYS);
  EXPECT_EQ(tryInside(brokerProfile, pair).error, 0);
}

TEST(BrokerProfile, NoSecondWayToEveryCall) {
  EXPECT_EQ(tryInside(brokerProfile, uring).error, ENOSYS);
}

TEST(PtyProfile, ItCanOpenStartAndReachNothingAndTheCallIsNamed) {
#ifdef FACTIONOS_SANITIZED
  GTEST_SKIP() << "a sanitizer's run-time opens files by itself; the plain build tells";
#endif
  EXPECT_EQ(tryInside(ptyProfile, openPasswd).syscall, SYS_openat);
  EXPECT_EQ(tryInside(ptyProfile, execute).syscall, SYS_execve);
  EXPECT_EQ(tryInside(ptyProfile, internet).syscall, SYS_socket);
  EXPECT_EQ(tryInside(ptyProfile, forkOne).syscall, SYS_clone);
  const auto traced = tryInside(ptyProfile, traceMe);
  EXPECT_TRUE(traced.syscall == SYS_ptrace || traced.signal == SIGSYS);
  EXPECT_EQ(tryInside(ptyProfile, []() -> long { return ::getpid(); }).error, 0)
      << "an allowed act under the same profile";
}

TEST(LauncherProfile, WhatItIsRefusedNobodyBelowCanHave) {
  EXPECT_EQ(tryInside(launcherProfile, keys).error, EPERM);
  EXPECT_NE(tryInside(none, keys).error, EPERM) << "control";
  EXPECT_EQ(tryInside(launcherProfile, uring).error, ENOSYS);
  EXPECT_EQ(tryInside(launcherProfile, forkOne).error, 0) << "starting workers is its work";
}

TEST(SessionProfile, ItMayMountAndStartButNotTouchTheKernel) {
  EXPECT_EQ(tryInside(sessionProfile, keys).error, EPERM);
  EXPECT_EQ(tryInside(sessionProfile, uring).error, ENOSYS);
  EXPECT_EQ(tryInside(sessionProfile, forkOne).error, 0);
}

TEST(Profiles, NoneOfThemSignalsAnOutsider) {
  // The parent is outside of every profile's signal scope; the broker's is open on purpose, for what it
  // adopts. Launcher and session have a scope where they mount nothing: below a Landlock layer no mount lets
  // files move.
  const sandbox::NamespaceSupport forbidden{EPERM, EPERM, EPERM, EPERM, EPERM, EPERM};
  const Act signalParent = []() -> long { return ::kill(::getppid(), 0); };
  EXPECT_TRUE(::geteuid() == 0 || tryInside(none, signalParent).error == 0) << "control";
  EXPECT_EQ(tryInside([&]() { return launcher::policy(kHome, forbidden); }, signalParent).error, EPERM);
  EXPECT_EQ(tryInside([&]() { return session::policy(forbidden); }, signalParent).error, EPERM);
  const auto byPty = tryInside(ptyProfile, signalParent);
  EXPECT_EQ(byPty.syscall, SYS_kill);
}

}  // namespace
}  // namespace factionos::test
