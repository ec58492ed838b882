// Killing trees. Every oracle is a pipe: its end of file says that nobody of the tree is left.
#include "sandbox/tree.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/enter.h"
#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::commandPolicy;
using testing::failureOf;
using testing::inChild;
using testing::Notes;
using testing::Outcome;

[[noreturn]] void waitForever() {
  while (true) pause();
}

// A child, a child of it in a session of its own, and an orphan by double fork, all deaf to what can be
// ignored. Tells on `ready` with one letter each. Returns in the caller alone.
void growTree(int ready) {
  const auto live = [ready] {
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    if (write(ready, "x", 1) != 1) _exit(1);
    waitForever();
  };
  if (fork() != 0) return;
  if (fork() == 0) {
    setsid();
    if (fork() == 0) live();
    _exit(0);
  }
  if (fork() == 0) {
    setsid();
    live();
  }
  live();
}

void waitForLetters(int descriptor, int count) {
  char letter = 0;
  for (int i = 0; i < count; ++i) {
    if (read(descriptor, &letter, 1) != 1) _exit(50);
  }
}

// True if nobody holds the other end.
bool ended(int descriptor) {
  char letter = 0;
  return read(descriptor, &letter, 1) == 0;
}

void enterScope(std::initializer_list<int> descriptors) {
  Policy policy = commandPolicy();
  policy.keep.insert(policy.keep.end(), descriptors);
  enter(policy);
}

TEST(Tree, P39_KillDomainLeavesNobodyOfTheTreeAndNobodyElseDies) {
  if (landlockAbi() < 6) ABSENT("Landlock below ABI 6");
  const Outcome outcome = inChild([](Notes& notes) {
    Pipe alive = makePipe();
    Pipe bystander = makePipe();
    const pid_t outsider = fork();  // of the same user, and no part of the tree
    if (outsider == 0) {
      alive = {};
      bystander.read.reset();
      waitForever();
    }
    bystander.write.reset();
    const pid_t keeper = fork();
    if (keeper == 0) {
      const auto witness = OutsideWitness::take(getppid());
      if (!witness) _exit(41);
      enterScope({alive.write.get(), alive.read.get(), witness->pidfd()});
      becomeSubreaper();
      const auto scope = ProvenScope::prove(*witness);
      if (!scope) _exit(42);
      growTree(alive.write.get());
      waitForLetters(alive.read.get(), 3);
      if (killDomain(*scope, 5s) != TreeEnd::kEmpty) _exit(43);
      _exit(waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? 7 : 44);
    }
    alive.write.reset();
    int status = 0;
    waitpid(keeper, &status, 0);
    notes.numbers[0] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    notes.numbers[1] = ended(alive.read.get());
    notes.numbers[2] = waitpid(outsider, nullptr, WNOHANG);  // 0: lives on
    ::kill(outsider, SIGKILL);
    waitpid(outsider, nullptr, 0);
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 7);
  EXPECT_EQ(outcome.notes.numbers[1], 1);
  EXPECT_EQ(outcome.notes.numbers[2], 0);
}

// The proof is the one way to kill(-1): without a scope there is none.
TEST(Tree, WithoutAScopeThereIsNoProof) {
  const Outcome outcome = inChild([](Notes& notes) {
    const Pipe line = makePipe();
    const pid_t outside = fork();
    if (outside == 0) waitForever();
    const auto witness = OutsideWitness::take(outside);
    notes.numbers[0] = witness.has_value();
    notes.numbers[1] = ProvenScope::prove(*witness).has_value();
    Policy policy = commandPolicy();
    policy.scopes.signals = Need::kOff;
    policy.keep.push_back(witness->pidfd());
    enter(policy);
    notes.numbers[2] = ProvenScope::prove(*witness).has_value();
    ::kill(outside, SIGKILL);
    waitpid(outside, nullptr, 0);
    notes.numbers[3] = ProvenScope::prove(*witness).has_value();  // gone: that is no proof either
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  EXPECT_EQ(outcome.notes.numbers[0], 1);
  EXPECT_EQ(outcome.notes.numbers[1], 0);
  EXPECT_EQ(outcome.notes.numbers[2], 0);
  EXPECT_EQ(outcome.notes.numbers[3], 0);
}

TEST(Tree, AWitnessIsAnotherLivingProcessThatMayBeSignalled) {
  const Outcome outcome = inChild([](Notes& notes) {
    notes.numbers[0] = OutsideWitness::take(getpid()).has_value();
    notes.numbers[1] = OutsideWitness::take(0).has_value();
    notes.numbers[2] = OutsideWitness::take(-1).has_value();
    notes.numbers[3] = OutsideWitness::take(1).has_value();  // another user's: its EPERM would prove nothing
    const pid_t gone = fork();
    if (gone == 0) _exit(0);
    waitpid(gone, nullptr, 0);
    notes.numbers[4] = OutsideWitness::take(gone).has_value();
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(outcome.notes.numbers[i], 0) << i;
}

TEST(Tree, AProofIsOfTheProcessThatMadeIt) {
  if (landlockAbi() < 6) ABSENT("Landlock below ABI 6");
  const auto failure = failureOf([] {
    Pipe line = makePipe();
    const pid_t outside = fork();
    if (outside == 0) {  // ends with the last holder of the other end
      close(kEventDescriptor);
      line.write.reset();
      static_cast<void>(ended(line.read.get()));
      _exit(0);
    }
    const auto witness = OutsideWitness::take(outside);
    enterScope({witness->pidfd(), line.write.get()});
    const auto scope = ProvenScope::prove(*witness);
    const pid_t child = fork();
    if (child == 0) killDomain(*scope, 1s);
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WEXITSTATUS(status));
  });
  EXPECT_EQ(failure.reason, "scope_proven_by_another");
}

TEST(Tree, P38_KillAdoptedLeavesNobodyBelowAbi6) {
  const Outcome outcome = inChild([](Notes& notes) {
    Pipe alive = makePipe();
    becomeSubreaper();
    growTree(alive.write.get());
    waitForLetters(alive.read.get(), 3);
    notes.numbers[0] = killAdopted(5s) == TreeEnd::kEmpty;
    alive.write.reset();
    notes.numbers[1] = ended(alive.read.get());
    notes.numbers[2] = killAdopted(0s) == TreeEnd::kEmpty;  // nothing to do is no failure
    return 0;
  });
  ASSERT_EQ(outcome.exitStatus, 0);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(outcome.notes.numbers[i], 1) << i;
}

// A process that goes on under a new pid faster than anybody reads a list of pids.
TEST(Tree, KillDomainCatchesAForkChain) {
  if (landlockAbi() < 6) ABSENT("Landlock below ABI 6");
  const Outcome outcome = inChild([](Notes& notes) {
    const pid_t keeper = fork();
    if (keeper == 0) {
      const auto witness = OutsideWitness::take(getppid());
      Pipe alive = makePipe();
      enterScope({alive.write.get(), alive.read.get(), witness->pidfd()});
      becomeSubreaper();
      const auto scope = ProvenScope::prove(*witness);
      if (!scope) _exit(42);
      if (fork() == 0) {
        if (write(alive.write.get(), "x", 1) != 1) _exit(1);
        while (true) {
          if (fork() != 0) _exit(0);
        }
      }
      waitForLetters(alive.read.get(), 1);
      alive.write.reset();
      if (killDomain(*scope, 10s) != TreeEnd::kEmpty) _exit(43);
      _exit(ended(alive.read.get()) ? 7 : 44);
    }
    int status = 0;
    waitpid(keeper, &status, 0);
    notes.numbers[0] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 7);
}

TEST(Tree, ADeadlineIsKept) {
  const Outcome outcome = inChild([](Notes& notes) {
    becomeSubreaper();
    const pid_t child = fork();
    if (child == 0) waitForever();
    notes.numbers[0] = killAdopted(0s) == TreeEnd::kDeadline;
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return 0;
  });
  EXPECT_EQ(outcome.notes.numbers[0], 1);
}

}  // namespace
}  // namespace factionos::sandbox
