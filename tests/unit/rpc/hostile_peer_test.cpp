// A peer that speaks raw bytes and means harm. Each test ends with the loop serving another, healthy
// connection.
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <capnp/any.h>
#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize-async.h>
#include <capnp/serialize.h>

#include "harness.h"

namespace factionos::rpc::test {
namespace {

using RpcMessage = capnp::rpc::Message;

class HostilePeer : public testing::Test {
 protected:
  // A server whose peer is the raw socket `peer`.
  void connect(ConnectionOptions options = {.role = Role::kServer}) {
    auto sockets = socketPair();
    peer = kj::mv(sockets.second);
    connection = std::make_unique<Connection>(loop, kj::mv(sockets.first), options,
                                              capnp::Capability::Client(kj::heap<EchoServer>()));
  }

  DisconnectCause cause() { return waitFor(loop, connection->onDisconnect()); }

  static kj::Array<capnp::word> flat(capnp::MessageBuilder& message) {
    return capnp::messageToFlatArray(message);
  }

  void send(capnp::MessageBuilder& message, kj::ArrayPtr<const int> fds = nullptr) {
    const auto words = flat(message);
    sendRaw(peer.get(), words.asBytes(), fds);
  }

  void sendBootstrap(uint32_t question) {
    capnp::MallocMessageBuilder message;
    message.initRoot<RpcMessage>().initBootstrap().setQuestionId(question);
    send(message);
  }

  // The next whole message that the server sent.
  kj::Own<capnp::MessageReader> receive() {
    auto stream = loop.lowLevel().wrapUnixSocketFd(peer.get());
    return waitFor(loop, capnp::readMessage(*stream));
  }

  void TearDown() override {
    EchoPair healthy(loop);
    EXPECT_EQ(waitFor(loop, ping(healthy.echo, 77)), 77u);
  }

  // gtest's own destructor is noexcept, theirs are not.
  std::unique_ptr<Loop> owned = std::make_unique<Loop>(Diagnostics::kKj);
  Loop& loop = *owned;
  std::unique_ptr<OwnFd> ownedPeer = std::make_unique<OwnFd>();
  OwnFd& peer = *ownedPeer;
  std::unique_ptr<Connection> connection;
};

TEST_F(HostilePeer, NoiseIsAViolation) {
  connect();
  const std::vector<kj::byte> noise(64, 0xff);
  sendRaw(peer.get(), kj::arrayPtr(noise.data(), noise.size()), nullptr);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

TEST_F(HostilePeer, AHugeAnnouncedSizeIsRefusedBeforeItIsAllocated) {
  connect();
  const std::array<uint32_t, 2> header{0, 0x7fffffff};  // one segment of 16 GiB
  sendRaw(peer.get(), kj::arrayPtr(header.data(), header.size()).asBytes(), nullptr);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

TEST_F(HostilePeer, TooManySegmentsAreAViolation) {
  connect();
  const std::array<uint32_t, 2> header{0x0fffffff, 1};
  sendRaw(peer.get(), kj::arrayPtr(header.data(), header.size()).asBytes(), nullptr);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

TEST_F(HostilePeer, AMessageThatEndsInTheMiddleIsALostPeer) {
  connect();
  capnp::MallocMessageBuilder message;
  message.initRoot<RpcMessage>().initBootstrap().setQuestionId(1);
  const auto words = flat(message);
  const auto bytes = words.asBytes();
  sendRaw(peer.get(), bytes.slice(0, bytes.size() - 3), nullptr);
  EXPECT_FALSE(connection->onDisconnect().poll(loop.waitScope()));
  peer = nullptr;
  EXPECT_EQ(cause(), DisconnectCause::kPeerClosed);
}

TEST_F(HostilePeer, ACallOnACapabilityThatWasNeverGivenIsAViolation) {
  connect();
  capnp::MallocMessageBuilder message;
  auto call = message.initRoot<RpcMessage>().initCall();
  call.setQuestionId(1);
  call.initTarget().setImportedCap(4711);
  call.setInterfaceId(1);
  send(message);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

TEST_F(HostilePeer, AReturnToAQuestionNeverAskedIsAViolation) {
  connect();
  capnp::MallocMessageBuilder message;
  message.initRoot<RpcMessage>().initReturn().setAnswerId(4711);
  send(message);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

TEST_F(HostilePeer, AQuestionNumberInUseIsAViolation) {
  connect();
  sendBootstrap(1);
  sendBootstrap(1);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

TEST_F(HostilePeer, ReleasingWhatItDoesNotHoldIsAViolation) {
  connect();
  capnp::MallocMessageBuilder message;
  auto release = message.initRoot<RpcMessage>().initRelease();
  release.setId(4711);
  release.setReferenceCount(1);
  send(message);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

TEST_F(HostilePeer, SayingGoodbyeIsNoViolation) {
  connect();
  capnp::MallocMessageBuilder message;
  message.initRoot<RpcMessage>().initAbort().setReason("bye");
  send(message);
  EXPECT_EQ(cause(), DisconnectCause::kPeerClosed);
}

// The type of an exception is an index into an array when KJ turns it into text.
TEST_F(HostilePeer, AnUnknownTypeOfExceptionIsAViolation) {
  connect();
  capnp::MallocMessageBuilder message;
  auto abort = message.initRoot<RpcMessage>().initAbort();
  abort.setReason("x");
  abort.setType(static_cast<capnp::rpc::Exception::Type>(60'000));
  send(message);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

TEST_F(HostilePeer, AnUnknownTypeOfExceptionInAReturnIsAViolation) {
  connect();
  auto call = ping(connection->bootstrapAs<Echo>(), 1);
  EXPECT_FALSE(call.poll(loop.waitScope()));
  auto question = receive();
  capnp::MallocMessageBuilder message;
  auto answer = message.initRoot<RpcMessage>().initReturn();
  answer.setAnswerId(question->getRoot<RpcMessage>().getBootstrap().getQuestionId());
  answer.initException().setType(static_cast<capnp::rpc::Exception::Type>(60'000));
  send(message);
  const auto failure = failureOf([&]() { waitFor(loop, kj::mv(call)); });
  EXPECT_EQ(failure.getType(), kj::Exception::Type::DISCONNECTED);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

TEST_F(HostilePeer, TheLastMessagesBeforeItsEndAreServed) {
  auto sockets = socketPair();
  auto server = kj::heap<EchoServer>();
  const EchoServer& served = *server;
  connection =
      std::make_unique<Connection>(loop, kj::mv(sockets.first), ConnectionOptions{.role = Role::kServer},
                                   capnp::Capability::Client(kj::mv(server)));
  peer = kj::mv(sockets.second);
  sendBootstrap(0);
  constexpr uint32_t kCalls = 20;
  for (uint32_t question = 1; question <= kCalls; ++question) {
    capnp::MallocMessageBuilder message;
    auto call = message.initRoot<RpcMessage>().initCall();
    call.setQuestionId(question);
    call.initTarget().initPromisedAnswer().setQuestionId(0);
    call.setInterfaceId(capnp::typeId<Echo>());
    call.setMethodId(6);
    call.initParams().getContent().initAs<Echo::PushParams>().initData(100);
    send(message);
  }
  peer = nullptr;
  EXPECT_EQ(cause(), DisconnectCause::kPeerClosed);
  EXPECT_EQ(served.pushed(), kCalls * 100);
}

TEST_F(HostilePeer, ClosingOnlyItsReadingSideEndsIt) {
  connect();
  shutdown(peer.get(), SHUT_RD);
  sendBootstrap(0);  // the answer can't be written
  EXPECT_EQ(cause(), DisconnectCause::kPeerClosed);
}

TEST_F(HostilePeer, ClosingOnlyItsWritingSideEndsIt) {
  connect();
  shutdown(peer.get(), SHUT_WR);
  EXPECT_EQ(cause(), DisconnectCause::kPeerClosed);
}

TEST_F(HostilePeer, UnknownMessagesAreAnsweredAndTheConnectionStays) {
  connect();
  capnp::MallocMessageBuilder message;
  message.initRoot<RpcMessage>().initJoin().setQuestionId(1);
  send(message);
  EXPECT_TRUE(receive()->getRoot<RpcMessage>().isUnimplemented());
  EXPECT_FALSE(connection->onDisconnect().poll(loop.waitScope()));
}

TEST_F(HostilePeer, DescriptorsThatNothingNamesAreClosed) {
  connect();
  auto pipe = makePipe();
  const std::vector<int> fds(9, pipe.in.get());
  const size_t before = openFds();
  for (uint32_t question = 1; question < 20; ++question) {
    capnp::MallocMessageBuilder message;
    message.initRoot<RpcMessage>().initBootstrap().setQuestionId(question);
    send(message, kj::arrayPtr(fds.data(), fds.size()));
    receive();
  }
  EXPECT_EQ(openFds(), before);
}

TEST_F(HostilePeer, DescriptorsInTheMiddleOfAMessageAreClosed) {
  connect();
  auto pipe = makePipe();
  const std::vector<int> fds(9, pipe.in.get());
  capnp::MallocMessageBuilder message;
  message.initRoot<RpcMessage>().initBootstrap().setQuestionId(1);
  const auto words = flat(message);
  const auto bytes = words.asBytes();
  const size_t before = openFds();
  for (size_t i = 0; i < bytes.size(); ++i) {
    sendRaw(peer.get(), bytes.slice(i, i + 1), kj::arrayPtr(fds.data(), fds.size()));
    loop.waitScope().poll();
  }
  receive();
  EXPECT_EQ(openFds(), before);
}

TEST_F(HostilePeer, DescriptorsThatNobodyHasReadGoWithTheConnection) {
  auto pipe = makePipe();
  const std::vector<int> fds(9, pipe.in.get());
  const size_t before = openFds();
  connect();
  capnp::MallocMessageBuilder message;
  message.initRoot<RpcMessage>().initBootstrap().setQuestionId(1);
  for (int i = 0; i < 10; ++i) send(message, kj::arrayPtr(fds.data(), fds.size()));
  connection = nullptr;
  peer = nullptr;
  EXPECT_EQ(openFds(), before);
}

TEST_F(HostilePeer, NotReadingTheAnswersEndsIt) {
  connect({.role = Role::kServer, .writeStall = 100 * kj::MILLISECONDS});
  sendBootstrap(0);
  receive();
  // Each asks for an answer that the socket can't hold and never reads it.
  for (uint32_t question = 1; question < 4; ++question) {
    capnp::MallocMessageBuilder message;
    auto call = message.initRoot<RpcMessage>().initCall();
    call.setQuestionId(question);
    call.initTarget().setImportedCap(0);
    call.setInterfaceId(capnp::typeId<Echo>());
    call.setMethodId(5);
    call.initParams().getContent().initAs<Echo::BigParams>().setBytes(1 << 20);
    send(message);
  }
  EXPECT_EQ(cause(), DisconnectCause::kStalled);
}

TEST_F(HostilePeer, AsksForAnswersWithoutEndAndIsHeldBack) {
  constexpr size_t kLimit = size_t{1} << 20;
  connect({.role = Role::kServer,
           .traversalLimitInWords = kLimit / 8,
           .maxQueuedBytes = kLimit,
           .writeStall = kLong});
  sendBootstrap(0);
  receive();
  capnp::MallocMessageBuilder message;
  auto call = message.initRoot<RpcMessage>().initCall();
  call.initTarget().setImportedCap(0);
  call.setInterfaceId(capnp::typeId<Echo>());
  call.setMethodId(5);
  call.initParams().getContent().initAs<Echo::BigParams>().setBytes(100'000);
  constexpr uint32_t kCalls = 200;  // 20 MB of answers
  for (uint32_t question = 1; question <= kCalls; ++question) {
    call.setQuestionId(question);
    send(message);
    loop.waitScope().poll();
    ASSERT_LT(connection->queuedBytes(), 2 * kLimit);
  }
  // Once the peer reads, everything is served: it was held back, not cut off.
  auto stream = loop.lowLevel().wrapUnixSocketFd(peer.get());
  for (uint32_t question = 1; question <= kCalls; ++question) {
    auto reader = waitFor(loop, capnp::readMessage(*stream));
    ASSERT_TRUE(reader->getRoot<RpcMessage>().isReturn());
  }
}

// A chain of as many promises is undone by recursion, which no stack has room for.
TEST_F(HostilePeer, SmallAnswersWithoutEndAreLetGoOfAtOnce) {
#ifdef FACTIONOS_SANITIZED
  constexpr uint32_t kAnswers = 10'000;  // what is slower must not be taken for a peer that stalls
#else
  constexpr uint32_t kAnswers = 60'000;
#endif
  connect({.role = Role::kServer, .maxMessagesPerSecond = 10'000'000, .writeStall = kLong});
  sendBootstrap(0);
  receive();
  for (uint32_t question = 1; question <= kAnswers; ++question) {
    capnp::MallocMessageBuilder message;
    message.initRoot<RpcMessage>().initBootstrap().setQuestionId(question);
    send(message);
    message.initRoot<RpcMessage>().initFinish().setQuestionId(question);
    send(message);
    if (question % 64 == 0) loop.waitScope().poll();
  }
  EXPECT_GT(connection->queuedBytes(), size_t{kAnswers} * 80);
  EXPECT_LT(connection->queuedBytes(), size_t{17} << 20);
  connection = nullptr;
}

TEST_F(HostilePeer, LeavingQuestionsUnfinishedWithoutEndIsAViolation) {
  connect({.role = Role::kServer, .maxOpenQuestions = 10});
  for (uint32_t question = 0; question < 10; ++question) sendBootstrap(question);
  EXPECT_FALSE(connection->onDisconnect().poll(loop.waitScope()));
  for (uint32_t question = 0; question < 5; ++question) {
    capnp::MallocMessageBuilder message;
    message.initRoot<RpcMessage>().initFinish().setQuestionId(question);
    send(message);
    sendBootstrap(question);
  }
  EXPECT_FALSE(connection->onDisconnect().poll(loop.waitScope()));
  sendBootstrap(100);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

// Echo.give: each answer brings a descriptor of ours that stays open as long as the peer holds it.
TEST_F(HostilePeer, KeepingCapabilitiesWithoutEndIsAViolation) {
  constexpr uint32_t kMost = 10;
  connect({.role = Role::kServer, .maxGivenCapabilities = kMost});
  uint32_t question = 0;
  const auto end = [&](uint32_t asked, bool releaseResults) {
    capnp::MallocMessageBuilder message;
    auto finish = message.initRoot<RpcMessage>().initFinish();
    finish.setQuestionId(asked);
    finish.setReleaseResultCaps(releaseResults);
    send(message);
  };
  const auto give = [&](bool releaseResults) {
    capnp::MallocMessageBuilder message;
    auto call = message.initRoot<RpcMessage>().initCall();
    call.setQuestionId(++question);
    call.initTarget().setImportedCap(0);
    call.setInterfaceId(capnp::typeId<Echo>());
    call.setMethodId(3);
    send(message);
    receive();
    end(question, releaseResults);
  };
  sendBootstrap(0);
  receive();
  end(0, false);
  for (uint32_t i = 0; i < 3 * kMost; ++i) give(true);
  EXPECT_FALSE(connection->onDisconnect().poll(loop.waitScope()));
  for (uint32_t i = 0; i < kMost; ++i) give(false);  // with the bootstrap that is one more
  EXPECT_FALSE(connection->onDisconnect().poll(loop.waitScope()));
  sendBootstrap(++question);
  EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
}

// What is let go of one by one counts as well.
TEST_F(HostilePeer, ReleasedCapabilitiesAreNotCounted) {
  connect({.role = Role::kServer, .maxGivenCapabilities = 4});
  for (uint32_t question = 0; question < 40; ++question) {
    sendBootstrap(question);
    receive();
    capnp::MallocMessageBuilder message;
    auto finish = message.initRoot<RpcMessage>().initFinish();
    finish.setQuestionId(question);
    finish.setReleaseResultCaps(false);
    send(message);
    auto release = message.initRoot<RpcMessage>().initRelease();
    release.setId(0);
    release.setReferenceCount(1);
    send(message);
  }
  EXPECT_FALSE(connection->onDisconnect().poll(loop.waitScope()));
}

TEST_F(HostilePeer, TooManyMessagesASecondWaitAndAreServedThen) {
  connect({.role = Role::kServer, .maxMessagesPerSecond = 10});
  const auto start = loop.timer().now();
  constexpr uint32_t kMessages = 25;
  for (uint32_t question = 0; question < kMessages; ++question) sendBootstrap(question);
  auto stream = loop.lowLevel().wrapUnixSocketFd(peer.get());
  for (uint32_t question = 0; question < kMessages; ++question) {
    waitFor(loop, capnp::readMessage(*stream));
  }
  EXPECT_GE(loop.timer().now() - start, 1900 * kj::MILLISECONDS);
}

// An unknown message goes back whole, and is copied for it by recursion.
TEST_F(HostilePeer, NestingWithoutEndIsAViolation) {
  constexpr int kLimit = ConnectionOptions{.role = Role::kServer}.nestingLimit;
  for (const int depth : {kLimit / 2, kLimit * 2}) {
    connect();
    capnp::MallocMessageBuilder message;
    auto pointer = message.initRoot<RpcMessage>().initJoin().getKeyPart();
    for (int level = 0; level < depth; ++level)
      pointer = pointer.initAsAnyStruct(0, 1).getPointerSection()[0];
    send(message);
    if (depth < kLimit) {
      EXPECT_TRUE(receive()->getRoot<RpcMessage>().isUnimplemented());
    } else {
      EXPECT_EQ(cause(), DisconnectCause::kProtocolViolation);
    }
  }
}

TEST_F(HostilePeer, CallsThatDoNotReturnAreHeldBack) {
  constexpr size_t kLimit = size_t{128} << 10;
  connect({.role = Role::kServer, .flowLimitInWords = kLimit / sizeof(capnp::word)});
  sendBootstrap(0);
  receive();
  capnp::MallocMessageBuilder message;
  auto call = message.initRoot<RpcMessage>().initCall();
  call.initTarget().setImportedCap(0);
  call.setInterfaceId(capnp::typeId<Echo>());
  call.setMethodId(1);
  call.initParams().getContent().initAs<Echo::NeverParams>().initData(kLimit / 8);
  constexpr size_t kAll = 64 * kLimit;  // and the kernel's buffers hold a few times the limit
  size_t sent = 0;
  for (uint32_t question = 1; sent < kAll; ++question) {
    call.setQuestionId(question);
    const auto words = flat(message);
    auto left = words.asBytes();
    for (int vain = 0; left.size() > 0 && vain < 100;) {
      const auto size = ::send(peer.get(), left.begin(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (size > 0) left = left.slice(static_cast<size_t>(size), left.size());
      vain = size > 0 ? 0 : vain + 1;
      loop.waitScope().poll();
    }
    if (left.size() > 0) break;
    sent += words.asBytes().size();
  }
  EXPECT_GE(sent, kLimit);
  EXPECT_LT(sent, kAll / 4);
  EXPECT_FALSE(connection->onDisconnect().poll(loop.waitScope())) << "held back, not cut off";
}

TEST_F(HostilePeer, MutatedMessagesNeverReachTheLoop) {
  std::mt19937 random(20240229);  // fixed, so that a failure can be seen again
  capnp::MallocMessageBuilder message;
  auto call = message.initRoot<RpcMessage>().initCall();
  call.setQuestionId(2);
  call.initTarget().initPromisedAnswer().setQuestionId(1);
  call.setInterfaceId(capnp::typeId<Echo>());
  call.setMethodId(0);
  call.initParams().getContent().initAs<Echo::PingParams>().setValue(1);
  const auto words = flat(message);
  for (int round = 0; round < 300; ++round) {
    connect();
    sendBootstrap(1);
    std::vector<kj::byte> bytes(words.asBytes().begin(), words.asBytes().end());
    for (int flips = 0; flips < 4; ++flips) {
      bytes[random() % bytes.size()] ^= static_cast<kj::byte>(1u << (random() % 8));
    }
    sendRaw(peer.get(), kj::arrayPtr(bytes.data(), bytes.size()), nullptr);
    loop.waitScope().poll();
    peer = nullptr;
    cause();
  }
}

}  // namespace
}  // namespace factionos::rpc::test
