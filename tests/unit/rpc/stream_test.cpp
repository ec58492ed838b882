// How streams behave, on our port and on KJ's own.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

namespace factionos::rpc::test {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

class Stream : public testing::TestWithParam<Port> {
 protected:
  std::unique_ptr<TestIo> io = makeIo(GetParam());

  struct Ends {
    kj::Own<kj::AsyncCapabilityStream> ours;
    OwnFd theirs;  // raw, non-blocking
  };
  Ends halfWrapped() {
    auto pair = socketPair();
    return {io->wrap(kj::mv(pair.first)), kj::mv(pair.second)};
  }
  struct Wrapped {
    kj::Own<kj::AsyncCapabilityStream> a;
    kj::Own<kj::AsyncCapabilityStream> b;
  };
  Wrapped wrapped() {
    auto pair = socketPair();
    return {io->wrap(kj::mv(pair.first)), io->wrap(kj::mv(pair.second))};
  }
  std::string read(kj::AsyncInputStream& stream, size_t minBytes, size_t maxBytes) {
    std::string text(maxBytes, '\0');
    text.resize(io->wait(stream.tryRead(text.data(), minBytes, maxBytes)));
    return text;
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, Stream, testing::Values(Port::kUv, Port::kKj),
                         [](const auto& parameter) { return parameter.param == Port::kUv ? "Uv" : "Kj"; });

std::vector<kj::byte> pattern(size_t size) {
  std::vector<kj::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<kj::byte>(i * 31 + i / 255);
  return bytes;
}

kj::ArrayPtr<const kj::byte> bytesOf(const std::string& text) {
  return kj::arrayPtr(reinterpret_cast<const kj::byte*>(text.data()), text.size());
}

TEST_P(Stream, MovesMoreThanTheKernelBuffersInBothDirectionsAtOnce) {
  auto ends = wrapped();
  const auto sent = pattern(3 * kMegabyte);
  std::vector<kj::byte> atA(sent.size());
  std::vector<kj::byte> atB(sent.size());
  auto all = kj::heapArrayBuilder<kj::Promise<void>>(4);
  all.add(ends.a->write(sent.data(), sent.size()));
  all.add(ends.b->write(sent.data(), sent.size()));
  all.add(ends.a->read(atA.data(), atA.size()));
  all.add(ends.b->read(atB.data(), atB.size()));
  io->wait(kj::joinPromises(all.finish()));
  EXPECT_EQ(atA, sent);
  EXPECT_EQ(atB, sent);
}

TEST_P(Stream, WaitsForTheMinimumAndTakesNoMoreThanTheMaximum) {
  auto ends = halfWrapped();
  std::string text(8, '\0');
  auto reading = ends.ours->tryRead(text.data(), 4, 6);
  sendRaw(ends.theirs.get(), bytesOf("ab"), nullptr);
  EXPECT_FALSE(reading.poll(io->waitScope()));
  sendRaw(ends.theirs.get(), bytesOf("cdefgh"), nullptr);
  EXPECT_EQ(io->wait(kj::mv(reading)), 6u);
  EXPECT_EQ(text.substr(0, 6), "abcdef");
  EXPECT_EQ(read(*ends.ours, 1, 8), "gh");
}

TEST_P(Stream, EndOfStreamGivesWhatWasLeftAndThenNothing) {
  auto ends = halfWrapped();
  sendRaw(ends.theirs.get(), bytesOf("xyz"), nullptr);
  ends.theirs = nullptr;
  EXPECT_EQ(read(*ends.ours, 8, 8), "xyz");
  EXPECT_EQ(read(*ends.ours, 1, 8), "");
}

TEST_P(Stream, AWaitingReadSeesThePeerClose) {
  auto ends = halfWrapped();
  std::array<char, 4> buffer{};
  auto reading = ends.ours->tryRead(buffer.data(), 1, buffer.size());
  EXPECT_FALSE(reading.poll(io->waitScope()));
  ends.theirs = nullptr;
  EXPECT_EQ(io->wait(kj::mv(reading)), 0u);
}

TEST_P(Stream, WritingToALostPeerIsADisconnectAndNoSignal) {
  auto ends = halfWrapped();
  ends.theirs = nullptr;
  const auto failure = failureOf([&]() { io->wait(ends.ours->write("x", 1)); });
  EXPECT_EQ(failure.getType(), kj::Exception::Type::DISCONNECTED);
}

TEST_P(Stream, APendingWriteFailsWhenThePeerIsLost) {
  auto ends = halfWrapped();
  const auto bytes = pattern(4 * kMegabyte);
  auto writing = ends.ours->write(bytes.data(), bytes.size());
  EXPECT_FALSE(writing.poll(io->waitScope()));
  ends.theirs = nullptr;
  EXPECT_EQ(failureOf([&]() { io->wait(kj::mv(writing)); }).getType(), kj::Exception::Type::DISCONNECTED);
}

TEST_P(Stream, ADroppedReadLosesNothing) {
  auto ends = halfWrapped();
  std::array<char, 4> buffer{};
  {
    auto dropped = ends.ours->tryRead(buffer.data(), 1, buffer.size());
    EXPECT_FALSE(dropped.poll(io->waitScope()));
  }
  sendRaw(ends.theirs.get(), bytesOf("abcd"), nullptr);
  EXPECT_EQ(read(*ends.ours, 4, 4), "abcd");
}

TEST_P(Stream, WritesMorePiecesThanOneCallTakes) {
  auto ends = wrapped();
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) texts.push_back(i % 7 == 0 ? "" : std::to_string(i));
  std::vector<kj::ArrayPtr<const kj::byte>> pieces;
  for (const auto& text : texts) {
    pieces.push_back(bytesOf(text));
    expected += text;
  }
  std::string received(expected.size(), '\0');
  auto writing = ends.a->write(kj::arrayPtr(pieces.data(), pieces.size()));
  io->wait(ends.b->read(received.data(), received.size()));
  io->wait(kj::mv(writing));
  EXPECT_EQ(received, expected);
}

TEST_P(Stream, EndingTheWriteSideLeavesTheReadSide) {
  auto ends = wrapped();
  ends.a->shutdownWrite();
  EXPECT_EQ(read(*ends.b, 1, 4), "");
  io->wait(ends.b->write("ok", 2));
  EXPECT_EQ(read(*ends.a, 2, 4), "ok");
}

TEST_P(Stream, TellsWhenThePeerIsGoneWithoutReading) {
  auto ends = halfWrapped();
  auto first = ends.ours->whenWriteDisconnected();
  auto second = ends.ours->whenWriteDisconnected();
  EXPECT_FALSE(first.poll(io->waitScope()));
  ends.theirs = nullptr;
  io->wait(kj::mv(first));
  io->wait(kj::mv(second));
}

TEST_P(Stream, AnswersSendBufferSize) {
  auto ends = halfWrapped();
  int size = 0;
  unsigned length = sizeof(size);
  ends.ours->getsockopt(SOL_SOCKET, SO_SNDBUF, &size, &length);
  EXPECT_GT(size, 4096);
}

TEST_P(Stream, CarriesDescriptorsCloseOnExec) {
  auto ends = wrapped();
  auto pipe = makePipe();
  const std::array<int, 2> fds{pipe.in.get(), pipe.out.get()};
  io->wait(ends.a->writeWithFds(bytesOf("m"), nullptr, kj::arrayPtr(fds.data(), fds.size())));
  std::array<OwnFd, 4> received;
  char byte = 0;
  const auto result = io->wait(ends.b->tryReadWithFds(&byte, 1, 1, received.data(), received.size()));
  ASSERT_EQ(result.byteCount, 1u);
  ASSERT_EQ(result.capCount, 2u);
  for (size_t i = 0; i < fds.size(); ++i) {
    EXPECT_TRUE(sameFile(received[i].get(), fds[i]));
    EXPECT_EQ(fcntl(received[i].get(), F_GETFD), FD_CLOEXEC);
  }
}

TEST_P(Stream, SurplusDescriptorsAreClosed) {
  auto ends = halfWrapped();
  auto pipe = makePipe();
  const std::vector<int> fds(7, pipe.in.get());
  const size_t before = openFds();
  for (const size_t room : {size_t{1}, size_t{2}, size_t{3}, size_t{4}}) {
    sendRaw(ends.theirs.get(), bytesOf("m"), kj::arrayPtr(fds.data(), fds.size()));
    std::vector<OwnFd> received(room);
    char byte = 0;
    const auto result = io->wait(ends.ours->tryReadWithFds(&byte, 1, 1, received.data(), room));
    EXPECT_EQ(result.capCount, room);
    EXPECT_EQ(openFds(), before + room);
  }
  EXPECT_EQ(openFds(), before);
}

TEST_P(Stream, DescriptorsOnBytesThatArePlainlyReadAreClosed) {
  auto ends = halfWrapped();
  auto pipe = makePipe();
  const std::vector<int> fds(5, pipe.in.get());
  const size_t before = openFds();
  sendRaw(ends.theirs.get(), bytesOf("m"), kj::arrayPtr(fds.data(), fds.size()));
  EXPECT_EQ(read(*ends.ours, 1, 8), "m");
  EXPECT_EQ(openFds(), before);
}

TEST_P(Stream, APartialWriteSendsItsDescriptorsOnce) {
  auto ends = wrapped();
  auto pipe = makePipe();
  const auto bytes = pattern(2 * kMegabyte);
  const std::array<int, 1> fds{pipe.in.get()};
  auto writing = ends.a->writeWithFds(kj::arrayPtr(bytes.data(), bytes.size()), nullptr,
                                      kj::arrayPtr(fds.data(), fds.size()));
  EXPECT_FALSE(writing.poll(io->waitScope()));
  std::vector<kj::byte> received(bytes.size());
  std::array<OwnFd, 8> receivedFds;
  const auto result = io->wait(ends.b->tryReadWithFds(received.data(), received.size(), received.size(),
                                                      receivedFds.data(), receivedFds.size()));
  io->wait(kj::mv(writing));
  EXPECT_EQ(result.byteCount, bytes.size());
  EXPECT_EQ(result.capCount, 1u);
  EXPECT_EQ(received, bytes);
}

TEST_P(Stream, CarriesStreams) {
  auto ends = wrapped();
  auto inner = socketPair();
  auto raw = kj::mv(inner.second);
  io->wait(ends.a->sendStream(io->wrap(kj::mv(inner.first))));
  auto received = io->wait(ends.b->receiveStream());
  io->wait(received->write("hi", 2));
  std::array<char, 4> buffer{};
  ASSERT_EQ(recv(raw.get(), buffer.data(), buffer.size(), 0), 2);
}

TEST_P(Stream, PipesWork) {
  auto pipe = makePipe();
  auto in = io->lowLevel().wrapInputFd(kj::mv(pipe.in));
  auto out = io->lowLevel().wrapOutputFd(kj::mv(pipe.out));
  const auto bytes = pattern(kMegabyte);
  std::vector<kj::byte> received(bytes.size());
  auto writing = out->write(bytes.data(), bytes.size());
  io->wait(in->read(received.data(), received.size()));
  io->wait(kj::mv(writing));
  EXPECT_EQ(received, bytes);
  out = nullptr;
  EXPECT_EQ(read(*in, 1, 1), "");
}

TEST_P(Stream, AClosedReaderOfAPipeIsADisconnect) {
  auto pipe = makePipe();
  auto out = io->lowLevel().wrapOutputFd(kj::mv(pipe.out));
  pipe.in = nullptr;
  EXPECT_EQ(failureOf([&]() { io->wait(out->write("x", 1)); }).getType(), kj::Exception::Type::DISCONNECTED);
}

TEST_P(Stream, LeavesABorrowedDescriptorOpen) {
  auto pair = socketPair();
  { auto stream = io->lowLevel().wrapUnixSocketFd(pair.first.get()); }
  EXPECT_NE(fcntl(pair.first.get(), F_GETFD), -1);
}

TEST_P(Stream, ClosesAnOwnedDescriptor) {
  const size_t before = openFds();
  {
    auto ends = wrapped();
    io->wait(ends.a->write("x", 1));
    EXPECT_EQ(read(*ends.b, 1, 1), "x");
  }
  EXPECT_EQ(openFds(), before);
}

TEST_P(Stream, ListensConnectsAndKnowsThePeer) {
  const std::string path = testing::TempDir() + "factionos-rpc-" + std::to_string(getpid()) + ".sock";
  unlink(path.c_str());
  auto address = io->wait(io->io().getNetwork().parseAddress(kj::str("unix:", path.c_str())));
  auto listener = address->listen();
  auto accepting = listener->acceptAuthenticated();
  auto client = io->wait(address->connect());
  auto accepted = io->wait(kj::mv(accepting));
  unlink(path.c_str());
  const auto credentials = kj::downcast<kj::LocalPeerIdentity>(*accepted.peerIdentity).getCredentials();
  EXPECT_EQ(KJ_ASSERT_NONNULL(credentials.uid), getuid());
  EXPECT_EQ(KJ_ASSERT_NONNULL(credentials.pid), getpid());
  io->wait(client->write("hello", 5));
  EXPECT_EQ(read(*accepted.stream, 5, 5), "hello");
}

TEST_P(Stream, ListensOnLoopbackAndConnectingToNobodyFails) {
  auto address = io->wait(io->io().getNetwork().parseAddress("127.0.0.1", 0));
  auto listener = address->listen();
  const unsigned port = listener->getPort();
  ASSERT_NE(port, 0u);
  auto target = io->wait(io->io().getNetwork().parseAddress("127.0.0.1", port));
  auto accepting = listener->accept();
  auto client = io->wait(target->connect());
  auto accepted = io->wait(kj::mv(accepting));
  io->wait(client->write("tcp", 3));
  EXPECT_EQ(read(*accepted, 3, 3), "tcp");
  listener = nullptr;
  const auto failure = failureOf([&]() { io->wait(target->connect()); });
  EXPECT_EQ(failure.getType(), kj::Exception::Type::DISCONNECTED);
}

TEST_P(Stream, TimersFireInOrderAndNotEarly) {
  std::vector<int> order;
  const auto start = io->timer().now();
  auto all = kj::heapArrayBuilder<kj::Promise<void>>(3);
  all.add(io->timer()
              .afterDelay(9 * kj::MILLISECONDS)
              .then([&order]() { order.push_back(3); })
              .eagerlyEvaluate(nullptr));
  all.add(io->timer()
              .afterDelay(1 * kj::MILLISECONDS)
              .then([&order]() { order.push_back(1); })
              .eagerlyEvaluate(nullptr));
  all.add(io->timer()
              .afterDelay(5 * kj::MILLISECONDS)
              .then([&order]() { order.push_back(2); })
              .eagerlyEvaluate(nullptr));
  kj::joinPromises(all.finish()).wait(io->waitScope());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_GE(io->timer().now() - start, 9 * kj::MILLISECONDS);
}

// Ours alone: KJ's own port offers none of it.

TEST(UvStream, AHangupBeforeTheQuestionIsNotMissed) {
  Loop loop;
  auto pair = socketPair();
  auto stream = loop.lowLevel().wrapUnixSocketFd(kj::mv(pair.first));
  char byte = 0;
  auto reading = stream->tryRead(&byte, 1, 1);
  EXPECT_FALSE(reading.poll(loop.waitScope()));
  pair.second = nullptr;
  EXPECT_EQ(waitFor(loop, kj::mv(reading)), 0u);
  waitFor(loop, stream->whenWriteDisconnected());
}

TEST(UvStream, AFileCanBeReadAlthoughItCannotBePolled) {
  Loop loop;
  OwnFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  auto stream = loop.lowLevel().wrapInputFd(kj::mv(file));
  std::array<char, 4> magic{};
  EXPECT_EQ(waitFor(loop, stream->tryRead(magic.data(), magic.size(), magic.size())), magic.size());
  EXPECT_EQ(std::string(magic.data(), magic.size()), "\177ELF");
}

TEST(UvStream, APtyMasterWorksAsASocketAndItsHangupIsTheEnd) {
  Loop loop;
  OwnFd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_GE(master.get(), 0);
  ASSERT_EQ(grantpt(master.get()), 0);
  ASSERT_EQ(unlockpt(master.get()), 0);
  OwnFd slave(open(ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_GE(slave.get(), 0);
  auto stream = loop.lowLevel().wrapSocketFd(kj::mv(master));
  ASSERT_EQ(write(slave.get(), "out", 3), 3);
  std::array<char, 8> buffer{};
  EXPECT_EQ(waitFor(loop, stream->tryRead(buffer.data(), 3, buffer.size())), 3u);
  waitFor(loop, stream->write("in\n", 3));
  EXPECT_EQ(read(slave.get(), buffer.data(), buffer.size()), 3);
  auto reading = stream->tryRead(buffer.data(), buffer.size(), buffer.size());  // the echo, and then the end
  EXPECT_FALSE(reading.poll(loop.waitScope()));
  slave = nullptr;
  EXPECT_LT(waitFor(loop, kj::mv(reading)), buffer.size());
}

TEST(UvStream, DatagramSocketsAreNotOffered) {
  Loop loop;
  auto pair = socketPair();
  EXPECT_EQ(failureOf([&]() { loop.lowLevel().wrapDatagramSocketFd(pair.first.get()); }).getType(),
            kj::Exception::Type::UNIMPLEMENTED);
}

}  // namespace
}  // namespace factionos::rpc::test
