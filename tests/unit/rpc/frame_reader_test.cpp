// Whole messages, however the bytes were cut, and each with the descriptors that were sent with it.
#include "protocol/rpc/frame_reader.h"

#include <array>
#include <numeric>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <capnp/any.h>
#include <capnp/message.h>
#include <capnp/serialize.h>

#include "harness.h"
#include "protocol/rpc/io_provider.h"

namespace factionos::rpc::test {
namespace {

struct Received {
  std::vector<kj::byte> content;
  size_t fds = 0;
};

class FrameReaderTest : public testing::Test {
 protected:
  FrameReaderTest() {
    auto sockets = socketPair();
    peer = std::make_unique<OwnFd>(kj::mv(sockets.second));
    stream = std::make_unique<kj::Own<StreamFd>>(
        kj::downcast<IoProvider>(loop.lowLevel()).wrapPeerSocket(kj::mv(sockets.first), kLong));
    reader = std::make_unique<FrameReader>(**stream, 2);
  }

  // A message that holds `content`.
  static kj::Array<capnp::word> messageOf(kj::ArrayPtr<const kj::byte> content) {
    capnp::MallocMessageBuilder message;
    message.initRoot<capnp::AnyPointer>().setAs<capnp::Data>(content);
    return capnp::messageToFlatArray(message);
  }
  static kj::Array<capnp::word> messageOf(size_t size, kj::byte fill) {
    return messageOf(std::vector<kj::byte>(size, fill));
  }
  static kj::Array<capnp::word> messageOf(const std::vector<kj::byte>& content) {
    return messageOf(kj::arrayPtr(content.data(), content.size()));
  }

  void send(kj::ArrayPtr<const kj::byte> bytes, size_t fds = 0) {
    const std::vector<int> numbers(fds, STDIN_FILENO);
    sendRaw(peer->get(), bytes, kj::arrayPtr(numbers.data(), numbers.size()));
  }

  kj::Maybe<Received> receive(uint64_t traversalLimitInWords = 8192) {
    std::array<OwnFd, 2> fds;
    capnp::ReaderOptions options;
    options.traversalLimitInWords = traversalLimitInWords;
    auto incoming =
        waitFor(loop, kj::evalNow([&]() { return reader->read(kj::arrayPtr(fds.data(), 2), options); }));
    FACTIONOS_IF_SOME(message, incoming) {
      const auto data = message.reader->template getRoot<capnp::AnyPointer>().template getAs<capnp::Data>();
      return Received{{data.begin(), data.end()}, message.fds.size()};
    }
    return kNone;
  }

  void expect(size_t size, kj::byte fill, size_t fds = 0) {
    auto received = receive();
    FACTIONOS_IF_SOME(message, received) {
      EXPECT_EQ(message.content, std::vector<kj::byte>(size, fill));
      EXPECT_EQ(message.fds, fds);
    }
    else {
      ADD_FAILURE() << "the stream has ended";
    }
  }

  std::unique_ptr<Loop> owned = std::make_unique<Loop>(Diagnostics::kKj);
  Loop& loop = *owned;
  std::unique_ptr<OwnFd> peer;
  std::unique_ptr<kj::Own<StreamFd>> stream;
  std::unique_ptr<FrameReader> reader;
};

TEST_F(FrameReaderTest, ManyMessagesInOneRead) {
  kj::Vector<kj::byte> all;
  for (kj::byte i = 0; i < 100; ++i) all.addAll(messageOf(i * 7U, i).asBytes());
  send(all);
  for (kj::byte i = 0; i < 100; ++i) expect(i * 7U, i);
}

TEST_F(FrameReaderTest, MessagesCutAnywhere) {
  kj::Vector<kj::byte> all;
  for (kj::byte i = 0; i < 4; ++i) all.addAll(messageOf(20, i).asBytes());
  for (const kj::byte byte : all) {
    auto pending = loop.timer().afterDelay(0 * kj::SECONDS);
    send(kj::arrayPtr(&byte, 1));
    pending.wait(loop.waitScope());
  }
  for (kj::byte i = 0; i < 4; ++i) expect(20, i);
}

TEST_F(FrameReaderTest, MessagesLargerThanItsBuffer) {
  const auto large = messageOf(60'000, 1);
  const auto small = messageOf(8, 2);
  send(small.asBytes());
  send(large.asBytes());
  send(small.asBytes());
  expect(8, 2);
  expect(60'000, 1);
  expect(8, 2);
}

TEST_F(FrameReaderTest, DescriptorsGoToTheMessageThatTheyWereSentWith) {
  const auto plain = messageOf(16, 1);
  const auto carrier = messageOf(16, 2);
  kj::Vector<kj::byte> two;
  two.addAll(plain.asBytes());
  two.addAll(plain.asBytes());
  send(two);
  send(carrier.asBytes(), 2);
  send(carrier.asBytes(), 1);
  send(plain.asBytes());
  const size_t before = openFds();
  expect(16, 1);
  expect(16, 1);
  expect(16, 2, 2);
  expect(16, 2, 1);
  expect(16, 1);
  EXPECT_EQ(openFds(), before) << "a descriptor was kept";
}

TEST_F(FrameReaderTest, DescriptorsOfALargeMessage) {
  send(messageOf(8, 1).asBytes());
  send(messageOf(60'000, 2).asBytes(), 1);
  send(messageOf(8, 3).asBytes());
  expect(8, 1);
  expect(60'000, 2, 1);
  expect(8, 3);
}

TEST_F(FrameReaderTest, DescriptorsInTheMiddleOfAMessageStayWithIt) {
  const auto message = messageOf(64, 1);
  const auto bytes = message.asBytes();
  send(bytes.slice(0, 40));
  send(bytes.slice(40, bytes.size()), 1);
  send(messageOf(8, 2).asBytes());
  receive();
  expect(8, 2);
}

TEST_F(FrameReaderTest, TheEndBetweenMessagesIsTheEnd) {
  send(messageOf(8, 1).asBytes());
  *peer = nullptr;
  expect(8, 1);
  EXPECT_TRUE(receive() == kNone);
}

TEST_F(FrameReaderTest, TheEndWithinAMessageThrows) {
  const auto message = messageOf(64, 1);
  for (const size_t cut : {size_t{4}, size_t{8}, size_t{40}}) {
    SCOPED_TRACE(cut);
    auto sockets = socketPair();
    sendRaw(sockets.second.get(), message.asBytes().slice(0, cut), nullptr);
    sockets.second = nullptr;
    auto line = kj::downcast<IoProvider>(loop.lowLevel()).wrapPeerSocket(kj::mv(sockets.first), kLong);
    FrameReader frames(*line, 0);
    EXPECT_ANY_THROW(waitFor(loop, frames.read(nullptr, {})));
  }
}

TEST_F(FrameReaderTest, WhatIsAboveTheLimitThrowsBeforeItIsAllocated) {
  send(messageOf(1000, 1).asBytes());
  EXPECT_ANY_THROW(receive(100));
}

TEST_F(FrameReaderTest, TooManySegmentsThrow) {
  const std::array<uint32_t, 2> header{600, 1};
  send(kj::arrayPtr(reinterpret_cast<const kj::byte*>(header.data()), sizeof(header)));
  EXPECT_ANY_THROW(receive());
}

}  // namespace
}  // namespace factionos::rpc::test
