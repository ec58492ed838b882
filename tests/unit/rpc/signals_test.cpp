// Signals by descriptor.
#include <initializer_list>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

namespace factionos::rpc::test {
namespace {

bool blockedHere(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

// SIGTERM and the like are sent to this very process, so each test runs in a child.

TEST(Signals, EachArrivesAsAPromise) {
  Child child([]() {
    Loop loop;
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) {
      auto waiting = loop.onSignal(signal);
      if (waiting.poll(loop.waitScope())) return 1;
      if (kill(getpid(), signal) != 0) return 2;
      if (waitFor(loop, kj::mv(waiting)) != signal) return 3;
    }
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Signals, OneThatComesBetweenTwoWaitsIsKept) {
  Child child([]() {
    Loop loop;
    { auto first = loop.onSignal(SIGTERM); }
    kill(getpid(), SIGTERM);
    return waitFor(loop, loop.onSignal(SIGTERM)) == SIGTERM ? 0 : 1;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Signals, AreSafeWithThePoolRunning) {
  Child child([]() {
    Loop loop;
    loop.startBlockingPool();
    for (int i = 0; i < 50; ++i) {
      auto waiting = loop.onSignal(SIGTERM);
      kill(getpid(), SIGTERM);
      if (waitFor(loop, kj::mv(waiting)) != SIGTERM) return 1;
    }
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Signals, TheMaskIsRestoredAndWhatIsPendingIsTaken) {
  Child child([]() {
    {
      Loop loop;
      auto waiting = loop.onSignal(SIGTERM);
      if (!blockedHere(SIGTERM)) return 1;
      kill(getpid(), SIGTERM);
    }
    return blockedHere(SIGTERM) ? 2 : 0;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Signals, WithoutTheLoopTheSameSignalEndsTheProcess) {
  Child child([]() {
    { Loop loop; }
    kill(getpid(), SIGTERM);
    return 0;
  });
  const int status = child.wait();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(Signals, SigpipeIsIgnored) {
  Child child([]() {
    signal(SIGPIPE, SIG_DFL);
    Loop loop;
    auto pipe = makePipe();
    pipe.in = nullptr;
    return write(pipe.out.get(), "x", 1) == -1 && errno == EPIPE ? 0 : 1;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Signals, FaultsAndASecondWaiterAreRefused) {
  Loop loop;
  for (const int signal : {SIGKILL, SIGSTOP, SIGSEGV, SIGSYS, 0, -1, 1000}) {
    failureOf([&]() { waitFor(loop, loop.onSignal(signal)); });
  }
  auto first = loop.onSignal(SIGUSR1);
  failureOf([&]() { waitFor(loop, loop.onSignal(SIGUSR1)); });
}

}  // namespace
}  // namespace factionos::rpc::test
