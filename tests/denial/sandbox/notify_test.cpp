#include "sandbox/notify.h"

#include <optional>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/self_check.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox::testing {
namespace {

constexpr int kAnswer = 73;

// Asks once, and ends.
[[noreturn]] void ask(int socket) {
  becomeOrdinary();
  SeccompPolicy policy;
  policy.unlisted = Verdict::allow();
  policy.rules = {notify({"asked", {{SYS_getppid, {}}}}, "the test answers")};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  sendListener(socket, Fd(loadProgram(compile(policy), Listener::kWanted)));
  _exit(static_cast<int>(syscall(SYS_getppid)));
}

TEST(NotifyListener, IsOverOnceNobodyIsLeftToCall) {
  SKIP_IF_SANITIZED();
  if (!canSupervise()) ABSENT("this kernel has no supervised calls");
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const pid_t child = fork();
  if (child == 0) ask(pair[1]);
  close(pair[1]);
  const NotifyListener listener(receiveListener(pair[0]));
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

}  // namespace
}  // namespace factionos::sandbox::testing
