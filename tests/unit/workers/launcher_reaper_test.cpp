// The launcher's eyes on its children: one that stands still before it is asked to.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/rpc/loop.h"
#include "workers/launcher/reaper.h"

namespace factionos::launcher {
namespace {

// Stops itself, as a hostile worker does, and waits if it is continued.
pid_t startSelfStopper() {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::kill(getpid(), SIGSTOP);
    while (true) pause();
  }
  return child;
}

// The kernel has this to tell of `child`, and whoever waits for it has not heard it.
bool isUnheard(pid_t child, int what, int patience) {
  siginfo_t told{};
  return waitid(P_PID, static_cast<id_t>(child), &told, what | WNOWAIT | patience) == 0 &&
         told.si_pid == child;
}

char stateOf(pid_t child) {
  std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
  std::string number;
  std::string name;
  char state = '?';
  stat >> number >> name >> state;
  return state;
}

class LauncherReaper : public testing::Test {
 public:
  ~LauncherReaper() noexcept override {}

 protected:
  void hear(int what) {
    ASSERT_TRUE(isUnheard(child_, what, 0));
    while (isUnheard(child_, what, WNOHANG)) turn();
  }
  void turn() { loop_.timer().afterDelay(1 * kj::MILLISECONDS).wait(loop_.waitScope()); }

  // False after long enough, for an answer that never comes.
  bool stops() {
    return reaper_.stop(child_)
        .exclusiveJoin(loop_.timer().afterDelay(20 * kj::SECONDS).then([]() { return false; }))
        .wait(loop_.waitScope());
  }

  rpc::Loop loop_{rpc::Diagnostics::kKj};
  Reaper reaper_{loop_};
  pid_t child_ = startSelfStopper();
  kj::Promise<int> ended_ = reaper_.watch(child_);
};

TEST_F(LauncherReaper, HasStoppedAtOnceWhatStoppedItself) {
  hear(WSTOPPED);
  EXPECT_TRUE(stops());
  reaper_.kill(child_);
  const int status = ended_.wait(loop_.waitScope());
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

TEST_F(LauncherReaper, StopsAnewWhatStoppedItselfAndWentOn) {
  hear(WSTOPPED);
  ::kill(child_, SIGCONT);
  hear(WCONTINUED);
  EXPECT_TRUE(stops());
  EXPECT_EQ(stateOf(child_), 'T');
  reaper_.kill(child_);
  ended_.wait(loop_.waitScope());
}

}  // namespace
}  // namespace factionos::launcher
