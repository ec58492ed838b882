// The loop's traps, each with the test that notices it.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "protocol/rpc/deadline.h"
#include "protocol/rpc/event_port.h"

namespace factionos::rpc::test {
namespace {

#ifdef FACTIONOS_SANITIZED
constexpr long kIdleCpuMicroseconds = 50'000;
#else
constexpr long kIdleCpuMicroseconds = 10'000;
#endif

struct Usage {
  long cpuMicroseconds;
  long waits;  // voluntary context switches: how often the thread went to sleep
};

Usage usage() {
  rusage now{};
  KJ_SYSCALL(getrusage(RUSAGE_THREAD, &now));
  const auto micros = [](const timeval& time) { return time.tv_sec * 1'000'000L + time.tv_usec; };
  return {micros(now.ru_utime) + micros(now.ru_stime), now.ru_nvcsw};
}

TEST(Loop, IdleCostsNothing) {
  Loop loop;
  EchoPair pair(loop);
  ASSERT_EQ(waitFor(loop, ping(pair.echo, 7)), 7u);
  const Usage before = usage();
  loop.timer().afterDelay(200 * kj::MILLISECONDS).wait(loop.waitScope());
  const Usage after = usage();
  EXPECT_LT(after.cpuMicroseconds - before.cpuMicroseconds, kIdleCpuMicroseconds);
  EXPECT_LT(after.waits - before.waits, 10);
}

TEST(Loop, ALoopWithNothingToWaitForSleeps) {
  // Only the wake handle keeps uv_run from returning at once: no timer, no descriptor is in the loop.
  Loop loop;
  const kj::Executor& executor = kj::getCurrentThreadExecutor();
  auto paf = kj::newPromiseAndFulfiller<void>();
  const Usage before = usage();
  std::thread waker([&executor, &paf]() {
    const timespec pause{0, 200'000'000};
    nanosleep(&pause, nullptr);  // the length of the measurement, not a wait for anything
    executor.executeSync([&paf]() { paf.fulfiller->fulfill(); });
  });
  paf.promise.wait(loop.waitScope());
  const Usage after = usage();
  waker.join();
  EXPECT_LT(after.cpuMicroseconds - before.cpuMicroseconds, kIdleCpuMicroseconds);
  EXPECT_LT(after.waits - before.waits, 10);
}

TEST(Loop, AnotherThreadWakesIt) {
  Loop loop;
  const kj::Executor& executor = kj::getCurrentThreadExecutor();
  constexpr int kCalls = 500;
  auto paf = kj::newPromiseAndFulfiller<void>();
  int served = 0;
  std::thread caller([&executor, &paf, &served]() {
    for (int i = 0; i < kCalls; ++i) executor.executeSync([&served]() { ++served; });
    executor.executeSync([&paf]() { paf.fulfiller->fulfill(); });
  });
  waitFor(loop, kj::mv(paf.promise));
  caller.join();
  EXPECT_EQ(served, kCalls);
}

TEST(Loop, AWakeUpBeforeTheWaitIsNotLost) {
  UvEventPort port;
  kj::EventLoop kjLoop(port);
  kj::WaitScope scope(kjLoop);
  port.attach(kjLoop);
  port.wake();
  EXPECT_TRUE(port.wait());
  EXPECT_FALSE(port.poll());
}

TEST(Loop, APromiseFulfilledInsideTheWaitDoesNotStall) {
  // libuv runs its timers before it polls. What such a callback fulfils must make the poll return, not wait
  // for the next event, of which there is none here.
  UvEventPort port;
  kj::EventLoop kjLoop(port);
  port.attach(kjLoop);
  kj::WaitScope scope(kjLoop);
  auto paf = kj::newPromiseAndFulfiller<void>();
  uv_timer_t timer;
  ASSERT_EQ(uv_timer_init(&port.uv(), &timer), 0);
  timer.data = paf.fulfiller.get();
  const auto fulfil = [](uv_timer_t* handle) {
    static_cast<kj::PromiseFulfiller<void>*>(handle->data)->fulfill();
  };
  ASSERT_EQ(uv_timer_start(&timer, fulfil, 0, 0), 0);
  // The stall would end by this deadline only.
  const auto start = port.timer().now();
  port.timer().timeoutAfter(kLong, kj::mv(paf.promise)).wait(scope);
  EXPECT_LT(port.timer().now() - start, 5 * kj::SECONDS);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
}

TEST(Loop, ADeadlineThatPassedWhileWorkRanIsSeenAtOnce) {
  Loop loop;
  auto promise = loop.timer().afterDelay(20 * kj::MILLISECONDS);
  const timespec work{0, 40'000'000};
  nanosleep(&work, nullptr);  // stands for work that keeps the thread
  EXPECT_TRUE(promise.poll(loop.waitScope()));
}

// So short that many pass after the clock was looked at and before the loop sleeps, as any may on a machine
// that is short of time. Nothing else would wake it.
TEST(Loop, ADeadlineThatPassesOnTheWayToSleepIsNotSleptOver) {
  Loop loop;
  for (int i = 0; i < 1000; ++i) loop.timer().afterDelay(i * kj::NANOSECONDS).wait(loop.waitScope());
}

TEST(Loop, BusyWorkStarvesNeitherTimersNorDescriptors) {
  Loop loop;
  bool stop = false;
  std::function<kj::Promise<void>()> spin = [&spin, &stop]() -> kj::Promise<void> {
    if (stop) return kj::READY_NOW;
    return kj::evalLater([&spin]() { return spin(); });
  };
  auto spinning = spin().eagerlyEvaluate(nullptr);
  waitFor(loop, loop.timer().afterDelay(5 * kj::MILLISECONDS));
  auto pair = socketPair();
  auto stream = loop.lowLevel().wrapUnixSocketFd(kj::mv(pair.first));
  char byte = 0;
  auto reading = stream->tryRead(&byte, 1, 1);
  ASSERT_EQ(send(pair.second.get(), "x", 1, 0), 1);
  EXPECT_EQ(waitFor(loop, kj::mv(reading)), 1u);
  stop = true;
  waitFor(loop, kj::mv(spinning));
}

TEST(Loop, ManyTimersComeAndGo) {
  Loop loop;
  for (int round = 0; round < 50; ++round) {
    auto far = loop.timer().afterDelay(1 * kj::HOURS);
    auto near = loop.timer().afterDelay(1 * kj::MILLISECONDS);
    waitFor(loop, kj::mv(near));
    EXPECT_FALSE(far.poll(loop.waitScope()));
  }
}

TEST(Loop, LeavesNoDescriptorAndNoneIsInherited) {
  constexpr int kLast = 64;
  std::array<bool, kLast> openBefore{};
  for (int fd = 0; fd < kLast; ++fd) openBefore[static_cast<size_t>(fd)] = fcntl(fd, F_GETFD) >= 0;
  // libuv keeps a pipe of the process's own from the first loop on.
  { const Loop first; }
  const size_t before = openFds();
  {
    Loop loop;
    EchoPair pair(loop);
    ASSERT_EQ(waitFor(loop, ping(pair.echo, 1)), 1u);
    EXPECT_EQ(waitFor(loop, loop.blocking([]() { return 3; })), 3);
    for (int fd = 0; fd < kLast; ++fd) {
      const int flags = fcntl(fd, F_GETFD);
      if (flags >= 0 && !openBefore[static_cast<size_t>(fd)]) {
        EXPECT_NE(flags & FD_CLOEXEC, 0) << fd;
      }
    }
  }
  EXPECT_EQ(openFds(), before);
}

TEST(Loop, LoopsFollowEachOtherAndLiveInOtherThreads) {
  for (int i = 0; i < 3; ++i) {
    Loop loop;
    waitFor(loop, loop.timer().afterDelay(1 * kj::MILLISECONDS));
  }
  Loop here;
  std::thread there([]() {
    Loop loop;
    waitFor(loop, loop.timer().afterDelay(1 * kj::MILLISECONDS));
  });
  there.join();
  waitFor(here, here.timer().afterDelay(1 * kj::MILLISECONDS));
}

TEST(WaitReadable, ResolvesAtOnceAndLater) {
  Loop loop;
  OwnFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto waiting = loop.waitReadable(event.get());
  EXPECT_FALSE(waiting.poll(loop.waitScope()));
  ASSERT_EQ(eventfd_write(event.get(), 1), 0);
  waitFor(loop, kj::mv(waiting));
  waitFor(loop, loop.waitReadable(event.get()));  // nobody has read it
}

TEST(WaitReadable, APidfdTellsThatItsProcessHasEnded) {
  auto gate = makePipe();
  Child child([&gate]() {
    gate.out = nullptr;
    char byte = 0;
    return static_cast<int>(read(gate.in.get(), &byte, 1));  // until the parent lets go
  });
  const long number = syscall(SYS_pidfd_open, child.pid(), 0);
  ASSERT_GE(number, 0);
  OwnFd pidfd(static_cast<int>(number));
  Loop loop;
  auto ended = loop.waitReadable(pidfd.get());
  EXPECT_FALSE(ended.poll(loop.waitScope()));
  gate.out = nullptr;
  waitFor(loop, kj::mv(ended));
  EXPECT_EQ(child.wait(), 0);
}

TEST(WaitReadable, ADroppedWaitLeavesNothingBehind) {
  Loop loop;
  auto pipe = makePipe();
  for (int i = 0; i < 3; ++i) {
    auto waiting = loop.waitReadable(pipe.in.get());
    EXPECT_FALSE(waiting.poll(loop.waitScope()));
  }
  const int number = pipe.in.get();
  pipe.in = nullptr;
  pipe.out = nullptr;
  pipe = makePipe();  // the number is used again, for another file
  ASSERT_EQ(pipe.in.get(), number);
  auto waiting = loop.waitReadable(number);
  ASSERT_EQ(write(pipe.out.get(), "x", 1), 1);
  waitFor(loop, kj::mv(waiting));
}

TEST(WaitReadable, RefusesWhatCannotBePolledAndASecondWaiter) {
  Loop loop;
  OwnFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  failureOf([&]() { waitFor(loop, loop.waitReadable(file.get())); });
  auto pipe = makePipe();
  auto first = loop.waitReadable(pipe.in.get());
  failureOf([&]() { waitFor(loop, loop.waitReadable(pipe.in.get())); });
  ASSERT_EQ(write(pipe.out.get(), "x", 1), 1);
  waitFor(loop, kj::mv(first));
}

// A descriptor that its owner closed too early leaves an event for a watch that is gone: it must find
// nothing.
TEST(WaitReadable, AnEventForAWatchThatIsGoneIsIgnored) {
  Loop loop;
  auto pipe = makePipe();
  OwnFd keptOpen(dup(pipe.in.get()));
  {
    auto waiting = loop.waitReadable(pipe.in.get());
    pipe.in = nullptr;
  }
  ASSERT_EQ(write(pipe.out.get(), "x", 1), 1);
  waitFor(loop, loop.timer().afterDelay(1 * kj::MILLISECONDS));
}

TEST(Listener, OutlivesRunningOutOfDescriptors) {
#ifdef FACTIONOS_SANITIZED
  GTEST_SKIP()
      << "the undefined-behaviour sanitizer opens pipes of its own and misjudges objects when it can't";
#endif
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  Loop loop;
  auto address = waitFor(loop, loop.network().parseAddress("127.0.0.1", 0));
  auto listener = address->listen();
  auto target = waitFor(loop, loop.network().parseAddress("127.0.0.1", listener->getPort()));
  auto client = waitFor(loop, target->connect());
  rlimit none = before;
  none.rlim_cur = 3;  // below what is open already: every new descriptor is EMFILE
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Usage start = usage();
  auto accepting = listener->accept();
  EXPECT_FALSE(loop.timer()
                   .afterDelay(250 * kj::MILLISECONDS)
                   .then([]() { return false; })
                   .exclusiveJoin(accepting.then([](kj::Own<kj::AsyncIoStream>) { return true; }))
                   .wait(loop.waitScope()));
  EXPECT_LT(usage().cpuMicroseconds - start.cpuMicroseconds, kIdleCpuMicroseconds);
  accepting = listener->accept();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  auto accepted = waitFor(loop, kj::mv(accepting));
  waitFor(loop, client->write("x", 1));
  char byte = 0;
  EXPECT_EQ(waitFor(loop, accepted->tryRead(&byte, 1, 1)), 1u);
}

TEST(Deadline, PassesAndIsTold) {
  Loop loop;
  auto limited = withDeadline(loop.timer(), 5 * kj::MILLISECONDS, kj::Promise<int>(kj::NEVER_DONE));
  const auto failure = failureOf([&]() { limited.wait(loop.waitScope()); });
  EXPECT_TRUE(isDeadlineExceeded(failure));
  EXPECT_FALSE(isDeadlineExceeded(KJ_EXCEPTION(OVERLOADED, "operation timed out")));
}

TEST(Deadline, LeavesAPromiseThatIsInTimeAlone) {
  Loop loop;
  EXPECT_EQ(waitFor(loop, withDeadline(loop.timer(), kLong, kj::Promise<int>(4))), 4);
  const auto failure = failureOf([&]() {
    withDeadline(loop.timer(), kLong, kj::Promise<int>(KJ_EXCEPTION(FAILED, "own"))).wait(loop.waitScope());
  });
  EXPECT_FALSE(isDeadlineExceeded(failure));
}

TEST(Deadline, APeerCannotPassItsFailureOffAsOurs) {
  Loop loop;
  class Liar final : public Echo::Server {
    kj::Promise<void> fail(FailContext) override { return deadlineExceeded(); }
  };
  auto sockets = socketPair();
  Connection server(loop, kj::mv(sockets.first), {.role = Role::kServer},
                    capnp::Capability::Client(kj::heap<Liar>()));
  Connection client(loop, kj::mv(sockets.second), {.role = Role::kClient});
  const auto failure =
      failureOf([&]() { waitFor(loop, client.bootstrapAs<Echo>().failRequest().send().ignoreResult()); });
  EXPECT_EQ(failure.getType(), kj::Exception::Type::OVERLOADED);
  EXPECT_FALSE(isDeadlineExceeded(failure));
}

}  // namespace
}  // namespace factionos::rpc::test
