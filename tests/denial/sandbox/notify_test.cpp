#include "sandbox/notify.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/families.h"
#include "sandbox/library_opens.h"
#include "sandbox/self_check.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox::testing {
namespace {

constexpr int kAnswer = 73;

constexpr int kRounds = 3000;

void listenToGetppid(int socket) {
  becomeOrdinary();
  SeccompPolicy policy;
  policy.unlisted = Verdict::allow();
  policy.rules = {notify({"asked", {{SYS_getppid, {}}}}, "the test answers")};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  sendListener(socket, Fd(loadProgram(compile(policy), Listener::kWanted)));
}

// Asks once, and ends.
[[noreturn]] void ask(int socket) {
  listenToGetppid(socket);
  _exit(static_cast<int>(syscall(SYS_getppid)));
}

// Whether each answer is a descriptor that was not there before.
[[noreturn]] void askForDescriptors(int socket) {
  listenToGetppid(socket);
  for (int round = 0; round < kRounds; ++round) {
    const auto given = static_cast<int>(syscall(SYS_getppid));
    if (given <= socket || close(given) != 0) _exit(1);
  }
  _exit(0);
}

// Signals, one after the other, for as long as it lives.
class Alarms {
 public:
  Alarms() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    constexpr itimerval kOften{{0, 20}, {0, 20}};
    setitimer(ITIMER_REAL, &kOften, nullptr);
  }
  ~Alarms() {
    const itimerval none{};
    setitimer(ITIMER_REAL, &none, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

 private:
  struct sigaction before_ {};
};

TEST(NotifyListener, IsOverOnceNobodyIsLeftToCall) {
  SKIP_IF_SANITIZED();
  if (!canSupervise()) ABSENT("this kernel has no supervised calls");
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const pid_t child = fork();
  if (child == 0) ask(pair[1]);
  close(pair[1]);
  NotifyListener listener(receiveListener(pair[0]));
  close(pair[0]);

  const std::optional<Notification> call = listener.receive();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->number, SYS_getppid);
  EXPECT_FALSE(listener.isOver()) << "the caller waits";
  listener.succeed(call->id, kAnswer);

  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(info.si_status, kAnswer);
  EXPECT_TRUE(listener.isOver()) << "unreaped, but dead";
  EXPECT_FALSE(listener.receive()) << "at once: who asks again and again takes a processor";
  waitpid(child, nullptr, 0);
}

// The kernel takes a request back that a signal interrupts, and counts it as answered all the same.
TEST(NotifyListener, GivesADescriptorWhateverSignalsTheSupervisorGets) {
  SKIP_IF_SANITIZED();
  if (!canSupervise()) ABSENT("this kernel has no supervised calls");
  for (const bool away : {false, true}) {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const pid_t child = fork();
    if (child == 0) askForDescriptors(pair[1]);
    close(pair[1]);
    NotifyListener listener(receiveListener(pair[0]));
    const Alarms alarms;
    while (!listener.isOver()) {
      const std::optional<Notification> call = listener.receive();
      if (!call) continue;
      if (away) {
        listener.giveAway(call->id, Fd(dup(pair[0])), OnExec::kClose);
      } else {
        listener.give(call->id, pair[0], OnExec::kClose);
      }
    }
    close(pair[0]);
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    EXPECT_EQ(status, 0) << (away ? "given away" : "given");
  }
}

// Becomes a program that opens its libraries, and then kOpened.
constexpr const char* kOpened = "/etc/passwd";

[[noreturn]] void openAndRead(int socket, std::vector<std::uint32_t> unheard) {
  becomeOrdinary();
  SeccompPolicy policy;
  policy.unlisted = Verdict::allow();
  policy.rules = {notify(families::openingToRead(), "the test looks")};
  policy.unheardOpens = std::move(unheard);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  sendListener(socket, Fd(loadProgram(compile(policy), Listener::kWanted)));
  execl("/bin/cat", "cat", kOpened, nullptr);
  _exit(1);
}

std::set<std::string> heardOf(const std::vector<std::uint32_t>& unheard) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return {};
  const pid_t child = fork();
  if (child == 0) openAndRead(pair[1], unheard);
  close(pair[1]);
  NotifyListener listener(receiveListener(pair[0]));
  std::set<std::string> paths;
  std::array<char, 4096> text{};
  while (!listener.isOver()) {
    const std::optional<Notification> call = listener.receive();
    if (!call) continue;
    const ssize_t size = readText(call->thread, call->arguments[1], text);
    if (size > 0) paths.emplace(text.data(), static_cast<std::size_t>(size));
    listener.letGoOn(call->id);
  }
  close(pair[0]);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return paths;
}

TEST(NotifyListener, HearsOfWhatAProgramOpensAndNotOfItsLibrary) {
  SKIP_IF_SANITIZED();
  if (!canSupervise()) ABSENT("this kernel has no supervised calls");
  constexpr const char* kLoaders = "/etc/ld.so.cache";
  const std::vector<std::uint32_t> unheard = libraryOpens();
  ASSERT_FALSE(unheard.empty()) << "no C library whose opens could be told from a program's";
  const std::set<std::string> all = heardOf({});
  const std::set<std::string> fewer = heardOf(unheard);
  EXPECT_TRUE(all.contains(kOpened));
  EXPECT_TRUE(all.contains(kLoaders));
  EXPECT_TRUE(fewer.contains(kOpened));
  EXPECT_FALSE(fewer.contains(kLoaders));
}

}  // namespace
}  // namespace factionos::sandbox::testing
