// The lists of syscalls.h suffice: each use runs under a filter that allows them and nothing else. The
// control is the same filter with one call less, or an act that is on no list.
#include "protocol/rpc/syscalls.h"

#include <span>
#include <string>

#include <seccomp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "harness.h"

namespace factionos::rpc::test {
namespace {

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_KILL_PROCESS)) { add("exit_group"); }
  ~Filter() { seccomp_release(context_); }
  KJ_DISALLOW_COPY(Filter);

  void add(const char* name) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) return;
    KJ_REQUIRE(seccomp_rule_add(context_, SCMP_ACT_ALLOW, number, 0) == 0, name);
  }
  void add(std::span<const char* const> names) {
    for (const char* name : names) add(name);
  }
  void load() { KJ_REQUIRE(seccomp_load(context_) == 0); }

 private:
  scmp_filter_ctx context_;
};

bool sanitized() {
#ifdef FACTIONOS_SANITIZED
  return true;
#else
  return false;
#endif
}

#define SKIP_IF_SANITIZED() \
  if (sanitized()) GTEST_SKIP() << "a sanitizer's runtime makes system calls of its own"

TEST(LoopSyscalls, RpcTimersAndWakeUpsNeedNoOthers) {
  SKIP_IF_SANITIZED();
  Child child([]() {
    auto sockets = socketPair();
    auto pipe = makePipe();
    Loop loop;
    Filter filter;
    filter.add(kLoopSyscalls);
    filter.add(kMemorySyscalls);
    filter.add(kStreamSyscalls);
    filter.load();
    Connection server(loop, kj::mv(sockets.first), {.role = Role::kServer},
                      capnp::Capability::Client(kj::heap<EchoServer>()));
    {
      Connection client(loop, kj::mv(sockets.second), {.role = Role::kClient});
      auto echo = client.bootstrapAs<Echo>();
      for (uint64_t i = 0; i < 100; ++i) {
        if (waitFor(loop, ping(echo, i)) != i) return 1;
      }
      auto request = echo.takeRequest();
      request.initCarriers(1).set(0, carryDescriptor<Carrier>(kj::mv(pipe.in)));
      if (waitFor(loop, request.send().then([](auto response) { return response.getReceived(); })) != 1)
        return 2;
      auto big = echo.bigRequest();
      big.setBytes(4 << 20);
      waitFor(loop, big.send().ignoreResult());
      const auto failure = failureOf([&]() { waitFor(loop, echo.failRequest().send().ignoreResult()); });
      // Turned into text, which is where KJ would start a shell to print a stack trace.
      if (kj::str(failure).size() == 0) return 3;
    }
    if (waitFor(loop, server.onDisconnect()) != DisconnectCause::kPeerClosed) return 4;
    loop.timer().afterDelay(2 * kj::MILLISECONDS).wait(loop.waitScope());
    kj::getCurrentThreadExecutor();
    auto out = loop.lowLevel().wrapOutputFd(kj::mv(pipe.out));
    return failureOf([&]() { waitFor(loop, out->write("x", 1)); }).getType() ==
                   kj::Exception::Type::DISCONNECTED
               ? 0
               : 5;
  });
  const int status = child.wait();
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LoopSyscalls, WhatIsOnNoListEndsTheProcess) {
  SKIP_IF_SANITIZED();
  Child child([]() {
    Loop loop;
    Filter filter;
    filter.add(kLoopSyscalls);
    filter.add(kMemorySyscalls);
    filter.add(kStreamSyscalls);
    filter.load();
    return socketPair().first.get() >= 0 ? 0 : 1;
  });
  const int status = child.wait();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

TEST(LoopSyscalls, AListenerNeedsItsOwnToo) {
  SKIP_IF_SANITIZED();
  Child child([]() {
    Loop loop;
    auto address = waitFor(loop, loop.network().parseAddress("127.0.0.1", 0));
    auto listener = address->listen();
    auto target = waitFor(loop, loop.network().parseAddress("127.0.0.1", listener->getPort()));
    auto client = waitFor(loop, target->connect());
    Filter filter;
    filter.add(kLoopSyscalls);
    filter.add(kMemorySyscalls);
    filter.add(kStreamSyscalls);
    filter.add(kListenerSyscalls);
    filter.load();
    auto accepted = waitFor(loop, listener->accept());
    waitFor(loop, client->write("x", 1));
    char byte = 0;
    return waitFor(loop, accepted->tryRead(&byte, 1, 1)) == 1 ? 0 : 1;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(LoopSyscalls, BlockingWorkRunsOnThreadsMadeBefore) {
  SKIP_IF_SANITIZED();
  Child child([]() {
    {
      Loop loop;
      loop.startBlockingPool();
      Filter filter;
      filter.add(kLoopSyscalls);
      filter.add(kMemorySyscalls);
      filter.add(kBlockingSyscalls);
      filter.load();
      for (size_t i = 0; i < 100; ++i) {
        const size_t size = 100'000 + i;
        if (waitFor(loop, loop.blocking([size]() { return std::string(size, 'x'); })).size() != size)
          return 1;
      }
      const auto failure = failureOf([&]() {
        waitFor(loop, loop.blocking([]() { kj::throwFatalException(KJ_EXCEPTION(FAILED, "x")); }));
      });
      if (kj::str(failure).size() == 0) return 2;
    }
    uv_library_shutdown();  // what exit() does
    return 0;
  });
  const int status = child.wait();
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LoopSyscalls, WithoutThePoolMadeBeforeTheFirstJobEndsTheProcess) {
  SKIP_IF_SANITIZED();
  Child child([]() {
    Loop loop;
    Filter filter;
    filter.add(kLoopSyscalls);
    filter.add(kMemorySyscalls);
    filter.add(kBlockingSyscalls);
    filter.load();
    waitFor(loop, loop.blocking([]() {}));
    return 0;
  });
  const int status = child.wait();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

TEST(LoopSyscalls, SignalsOnceOpenedNeedNoOthers) {
  SKIP_IF_SANITIZED();
  Child child([]() {
    Loop loop;
    auto waiting = loop.onSignal(SIGTERM);
    const pid_t self = getpid();
    Filter filter;
    filter.add(kLoopSyscalls);
    filter.add(kMemorySyscalls);
    filter.add(kSignalSyscalls);
    filter.add("kill");  // the test's own
    filter.load();
    for (int i = 0; i < 3; ++i) {
      kill(self, SIGTERM);
      if (waitFor(loop, kj::mv(waiting)) != SIGTERM) return 1;
      waiting = loop.onSignal(SIGTERM);
    }
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace factionos::rpc::test
