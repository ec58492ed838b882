// Blocking work on the thread pool.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "harness.h"

namespace factionos::rpc::test {
namespace {

TEST(Blocking, RunsElsewhereAndReturnsHere) {
  Loop loop;
  const auto here = std::this_thread::get_id();
  const auto there = waitFor(loop, loop.blocking([]() { return std::this_thread::get_id(); }));
  EXPECT_NE(there, here);
}

TEST(Blocking, CarriesMoveOnlyValuesAndVoid) {
  Loop loop;
  auto value = std::make_unique<int>(5);
  auto result =
      waitFor(loop, loop.blocking([value = std::move(value)]() mutable { return std::move(value); }));
  EXPECT_EQ(*result, 5);
  waitFor(loop, loop.blocking([]() {}));
}

TEST(Blocking, CarriesExceptionsBack) {
  Loop loop;
  const auto ours = failureOf([&]() {
    waitFor(loop, loop.blocking([]() -> int { kj::throwFatalException(KJ_EXCEPTION(OVERLOADED, "full")); }));
  });
  EXPECT_EQ(ours.getType(), kj::Exception::Type::OVERLOADED);
  EXPECT_EQ(ours.getDescription(), "full"_kj);
  const auto foreign =
      failureOf([&]() { waitFor(loop, loop.blocking([]() { throw std::runtime_error("std"); })); });
  EXPECT_EQ(foreign.getType(), kj::Exception::Type::FAILED);
}

TEST(Blocking, TheLoopGoesOnMeanwhile) {
  Loop loop;
  auto pipe = makePipe();
  auto job = loop.blocking([in = pipe.in.get()]() {
    char byte = 0;
    return read(in, &byte, 1);
  });
  EXPECT_FALSE(job.poll(loop.waitScope()));
  waitFor(loop, loop.timer().afterDelay(2 * kj::MILLISECONDS));
  ASSERT_EQ(write(pipe.out.get(), "x", 1), 1);
  EXPECT_EQ(waitFor(loop, kj::mv(job)), 1);
}

// The job reads what it captured after its promise is gone; a sanitizer notices if that was freed.
TEST(Blocking, ADroppedJobThatRunsKeepsWhatItNeeds) {
  auto gate = makePipe();
  auto done = makePipe();
  std::atomic<int> sum{0};
  {
    Loop loop;
    auto started = makePipe();
    {
      auto numbers = std::make_unique<std::vector<int>>(1000, 1);
      auto dropped = loop.blocking([numbers = std::move(numbers), &gate, &started, &done, &sum]() {
        char byte = 'x';
        KJ_SYSCALL(write(started.out.get(), &byte, 1));
        KJ_SYSCALL(read(gate.in.get(), &byte, 1));
        for (const int number : *numbers) sum += number;
        KJ_SYSCALL(write(done.out.get(), &byte, 1));
        return std::vector<int>(100, 2);
      });
      waitFor(loop, loop.waitReadable(started.in.get()));
    }
    ASSERT_EQ(write(gate.out.get(), "x", 1), 1);
    waitFor(loop, loop.waitReadable(done.in.get()));
    waitFor(loop, loop.timer().afterDelay(1 * kj::MILLISECONDS));  // lets the after-work callback come
  }
  EXPECT_EQ(sum, 1000);
}

TEST(Blocking, DestroyingTheLoopWaitsForARunningJob) {
  std::atomic<bool> finished{false};
  auto started = makePipe();
  {
    Loop loop;
    {
      auto dropped = loop.blocking([&started, &finished]() {
        KJ_SYSCALL(write(started.out.get(), "x", 1));
        const timespec work{0, 20'000'000};
        nanosleep(&work, nullptr);  // stands for work
        finished = true;
      });
      waitFor(loop, loop.waitReadable(started.in.get()));
    }
  }
  EXPECT_TRUE(finished);
}

TEST(Blocking, ADroppedJobThatHasNotBegunNeverRuns) {
  Loop loop;
  auto gate = makePipe();
  constexpr int kMoreThanThreads = 64;
  std::vector<kj::Promise<ssize_t>> busy;
  for (int i = 0; i < kMoreThanThreads; ++i) {
    busy.push_back(loop.blocking([in = gate.in.get()]() {
      char byte = 0;
      return read(in, &byte, 1);  // until the gate closes
    }));
  }
  bool ran = false;
  auto witness = std::make_shared<int>(0);
  {
    auto dropped = loop.blocking([&ran, witness]() { ran = true; });
    EXPECT_FALSE(dropped.poll(loop.waitScope()));
  }
  gate.out = nullptr;
  for (auto& job : busy) EXPECT_EQ(waitFor(loop, kj::mv(job)), 0);
  waitFor(loop, loop.blocking([]() {}));
  EXPECT_FALSE(ran);
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(Blocking, ManyJobsAllComeBack) {
  Loop loop;
  loop.startBlockingPool();
  loop.startBlockingPool();
  constexpr uint64_t kJobs = 2000;
  auto jobs = kj::heapArrayBuilder<kj::Promise<uint64_t>>(kJobs);
  for (uint64_t i = 0; i < kJobs; ++i) jobs.add(loop.blocking([i]() { return i; }));
  uint64_t sum = 0;
  for (const uint64_t value : waitFor(loop, kj::joinPromises(jobs.finish()))) sum += value;
  EXPECT_EQ(sum, kJobs * (kJobs - 1) / 2);
}

// In a child of its own, as the pool of this process may have been created by an earlier test.
TEST(Blocking, PoolThreadsBlockEverySignal) {
  Child child([]() {
    Loop loop;
    loop.startBlockingPool();
    const bool blocked = waitFor(loop, loop.blocking([]() {
      sigset_t mask;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      return sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGCHLD) == 1;
    }));
    sigset_t ours;
    pthread_sigmask(SIG_SETMASK, nullptr, &ours);
    return blocked && sigismember(&ours, SIGTERM) == 0 ? 0 : 1;
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace factionos::rpc::test
