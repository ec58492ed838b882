// Descriptors as capabilities.
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "harness.h"

namespace factionos::rpc::test {
namespace {

#ifdef FACTIONOS_SANITIZED
constexpr int kCalls = 1'000;
#else
constexpr int kCalls = 10'000;
#endif

kj::Promise<OwnFd> given(Echo::Client echo) {
  return echo.giveRequest().send().then([](auto response) { return takeDescriptor(response.getCarrier()); });
}

kj::Promise<uint32_t> take(Echo::Client echo, kj::ArrayPtr<const int> fds) {
  auto request = echo.takeRequest();
  auto carriers = request.initCarriers(static_cast<unsigned>(fds.size()));
  for (unsigned i = 0; i < fds.size(); ++i) carriers.set(i, carryDescriptor<Carrier>(OwnFd(dup(fds[i]))));
  return request.send().then([](auto response) { return response.getReceived(); });
}

TEST(SocketPair, IsCloseOnExecAndNonBlocking) {
  auto pair = socketPair();
  for (const int fd : {pair.first.get(), pair.second.get()}) {
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_NE(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  }
}

TEST(Descriptor, TravelsAndIsCloseOnExec) {
  Loop loop;
  EchoPair pair(loop);
  auto fd = waitFor(loop, given(pair.echo));
  EXPECT_GE(fd.get(), 3);
  EXPECT_EQ(fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
  char byte = 0;
  EXPECT_EQ(read(fd.get(), &byte, 1), 0);  // the pipe whose writer is closed
}

TEST(Descriptor, OutlivesItsCapabilityAndItsConnection) {
  Loop loop;
  auto pipe = makePipe();
  OwnFd taken;
  {
    auto carrier = carryDescriptor<Carrier>(kj::mv(pipe.in));
    taken = waitFor(loop, takeDescriptor(carrier));
  }
  ASSERT_EQ(write(pipe.out.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(taken.get(), &byte, 1), 1);
}

TEST(Descriptor, APromisedCapabilityIsWaitedFor) {
  Loop loop;
  EchoPair pair(loop);
  auto fd = waitFor(loop, takeDescriptor(pair.echo.giveRequest().send().getCarrier()));
  EXPECT_GE(fd.get(), 3);
}

TEST(Descriptor, ACapabilityWithoutOneIsAnAnswer) {
  Loop loop;
  EchoPair pair(loop);
  EXPECT_TRUE(isDescriptorMissing(failureOf([&]() { waitFor(loop, takeDescriptor(pair.echo)); })));
  EXPECT_FALSE(isDescriptorMissing(KJ_EXCEPTION(FAILED, "other")));
}

TEST(Descriptor, ThoseAboveTheLimitAreMissingAndClosed) {
  Loop loop;
  EchoPair pair(loop);
  ASSERT_EQ(waitFor(loop, ping(pair.echo, 1)), 1u);
  auto pipe = makePipe();
  const size_t before = openFds();
  const std::vector<int> fds(7, pipe.in.get());
  EXPECT_EQ(waitFor(loop, take(pair.echo, kj::arrayPtr(fds.data(), 4))), 4u);
  EXPECT_EQ(waitFor(loop, take(pair.echo, kj::arrayPtr(fds.data(), fds.size()))), 4u);
  EXPECT_EQ(waitFor(loop, ping(pair.echo, 2)), 2u);  // releases have been exchanged
  EXPECT_EQ(openFds(), before);
}

TEST(Descriptor, ASideThatTakesNoneCanStillSend) {
  Loop loop;
  EchoPair pair(loop, {.role = Role::kClient}, {.role = Role::kServer, .maxFdsPerMessage = 0});
  EXPECT_GE(waitFor(loop, given(pair.echo)).get(), 3);
  ASSERT_EQ(waitFor(loop, ping(pair.echo, 1)), 1u);  // the server has heard of the release
  auto pipe = makePipe();
  const std::vector<int> fds(2, pipe.in.get());
  const size_t before = openFds();
  EXPECT_EQ(waitFor(loop, take(pair.echo, kj::arrayPtr(fds.data(), fds.size()))), 0u);
  EXPECT_EQ(waitFor(loop, ping(pair.echo, 2)), 2u);
  EXPECT_EQ(openFds(), before);
}

TEST(Descriptor, TenThousandCallsLeakNone) {
  Loop loop;
  EchoPair pair(loop);
  auto pipe = makePipe();
  const std::vector<int> fds(3, pipe.in.get());
  ASSERT_EQ(waitFor(loop, ping(pair.echo, 1)), 1u);
  const size_t before = openFds();
  for (int i = 0; i < kCalls / 2; ++i) {
    ASSERT_GE(waitFor(loop, given(pair.echo)).get(), 3);
    ASSERT_EQ(waitFor(loop, take(pair.echo, kj::arrayPtr(fds.data(), fds.size()))), 3u);
  }
  EXPECT_EQ(waitFor(loop, ping(pair.echo, 2)), 2u);
  EXPECT_EQ(openFds(), before);
}

TEST(Descriptor, ADroppedCallLeaksNone) {
  Loop loop;
  EchoPair pair(loop);
  ASSERT_EQ(waitFor(loop, ping(pair.echo, 1)), 1u);
  const size_t before = openFds();
  for (int i = 0; i < 100; ++i) {
    auto dropped = given(pair.echo);
    if (i % 2 == 0) dropped.poll(loop.waitScope());
  }
  EXPECT_EQ(waitFor(loop, ping(pair.echo, 2)), 2u);
  EXPECT_EQ(waitFor(loop, ping(pair.echo, 3)), 3u);
  EXPECT_EQ(openFds(), before);
}

}  // namespace
}  // namespace factionos::rpc::test
