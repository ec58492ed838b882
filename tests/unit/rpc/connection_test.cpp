// Connections between well-behaved ends, and ends that die.
#include <string>
#include <vector>

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <capnp/rpc-twoparty.h>

#include "harness.h"
#include "protocol/rpc/deadline.h"

namespace factionos::rpc::test {
namespace {

TEST(Connection, CallsAnswersAndCarriesFailures) {
  Loop loop;
  EchoPair pair(loop);
  EXPECT_EQ(waitFor(loop, ping(pair.echo, 42)), 42u);
  const auto failure = failureOf([&]() { waitFor(loop, pair.echo.failRequest().send().ignoreResult()); });
  EXPECT_EQ(failure.getType(), kj::Exception::Type::FAILED);
  EXPECT_EQ(waitFor(loop, ping(pair.echo, 43)), 43u);
}

TEST(Connection, BothSidesCanOfferABootstrap) {
  Loop loop;
  auto sockets = socketPair();
  Connection server(loop, kj::mv(sockets.first), {.role = Role::kServer},
                    capnp::Capability::Client(kj::heap<EchoServer>()));
  Connection client(loop, kj::mv(sockets.second), {.role = Role::kClient},
                    capnp::Capability::Client(kj::heap<EchoServer>()));
  EXPECT_EQ(waitFor(loop, ping(server.bootstrapAs<Echo>(), 1)), 1u);
  EXPECT_EQ(waitFor(loop, ping(client.bootstrapAs<Echo>(), 2)), 2u);
  EXPECT_EQ(waitFor(loop, ping(client.bootstrapAs<Echo>(), 3)), 3u);
}

TEST(Connection, CapabilitiesCallBack) {
  Loop loop;
  EchoPair pair(loop);
  auto request = pair.echo.callBackRequest();
  request.setPeer(kj::heap<EchoServer>());
  request.setValue(9);
  EXPECT_EQ(waitFor(loop, request.send().then([](auto response) { return response.getValue(); })), 9u);
}

TEST(Connection, WithoutABootstrapThePeerGetsAFailureAndTheConnectionStays) {
  Loop loop;
  auto sockets = socketPair();
  Connection server(loop, kj::mv(sockets.first), {.role = Role::kServer});
  Connection client(loop, kj::mv(sockets.second), {.role = Role::kClient});
  failureOf([&]() { waitFor(loop, ping(client.bootstrapAs<Echo>(), 1)); });
  EXPECT_FALSE(client.onDisconnect().poll(loop.waitScope()));
}

TEST(Connection, ClosingTellsBothSidesAndFailsCalls) {
  Loop loop;
  EchoPair pair(loop);
  auto call = pair.echo.neverRequest().send().ignoreResult();
  EXPECT_FALSE(call.poll(loop.waitScope()));
  pair.client.close();
  pair.client.close();
  EXPECT_EQ(failureOf([&]() { waitFor(loop, kj::mv(call)); }).getType(), kj::Exception::Type::DISCONNECTED);
  EXPECT_EQ(waitFor(loop, pair.client.onDisconnect()), DisconnectCause::kClosedHere);
  EXPECT_EQ(waitFor(loop, pair.server.onDisconnect()), DisconnectCause::kPeerClosed);
  EXPECT_EQ(waitFor(loop, pair.server.onDisconnect()), DisconnectCause::kPeerClosed);
  const auto late = failureOf([&]() { waitFor(loop, ping(pair.client.bootstrapAs<Echo>(), 1)); });
  EXPECT_EQ(late.getType(), kj::Exception::Type::DISCONNECTED);
  const auto kept = failureOf([&]() { waitFor(loop, ping(pair.echo, 1)); });
  EXPECT_EQ(kept.getType(), kj::Exception::Type::DISCONNECTED);
}

TEST(Connection, MayBeClosedFromInsideACallThatItServes) {
  Loop loop;
  auto sockets = socketPair();
  auto owned = kj::heap<EchoServer>();
  EchoServer& served = *owned;
  Connection server(loop, kj::mv(sockets.first), {.role = Role::kServer},
                    capnp::Capability::Client(kj::mv(owned)));
  served.connection = &server;
  Connection client(loop, kj::mv(sockets.second), {.role = Role::kClient});
  const auto failure = failureOf(
      [&]() { waitFor(loop, client.bootstrapAs<Echo>().closeConnectionRequest().send().ignoreResult()); });
  EXPECT_EQ(failure.getType(), kj::Exception::Type::DISCONNECTED);
  EXPECT_EQ(waitFor(loop, server.onDisconnect()), DisconnectCause::kClosedHere);
}

TEST(Connection, DestroyingOneEndEndsTheOther) {
  Loop loop;
  auto sockets = socketPair();
  auto server =
      std::make_unique<Connection>(loop, kj::mv(sockets.first), ConnectionOptions{.role = Role::kServer},
                                   capnp::Capability::Client(kj::heap<EchoServer>()));
  Connection client(loop, kj::mv(sockets.second), {.role = Role::kClient});
  auto echo = client.bootstrapAs<Echo>();
  EXPECT_EQ(waitFor(loop, ping(echo, 5)), 5u);
  server = nullptr;
  EXPECT_EQ(waitFor(loop, client.onDisconnect()), DisconnectCause::kPeerClosed);
  EXPECT_EQ(failureOf([&]() { waitFor(loop, ping(echo, 6)); }).getType(), kj::Exception::Type::DISCONNECTED);
}

TEST(Connection, CapabilitiesOutliveTheirConnectionAsBrokenOnes) {
  Loop loop;
  kj::Maybe<Echo::Client> kept;
  {
    EchoPair pair(loop);
    EXPECT_EQ(waitFor(loop, ping(pair.echo, 5)), 5u);
    kept = pair.echo;
  }
  FACTIONOS_IF_SOME(echo, kept) {
    EXPECT_EQ(failureOf([&]() { waitFor(loop, ping(echo, 6)); }).getType(),
              kj::Exception::Type::DISCONNECTED);
  }
  else {
    FAIL();
  }
}

class LostPeer : public testing::Test {
 protected:
  // A child that serves Echo on `socket` until it is killed.
  static int serve(OwnFd socket) {
    Loop loop;
    Connection connection(loop, kj::mv(socket), {.role = Role::kServer},
                          capnp::Capability::Client(kj::heap<EchoServer>()));
    connection.onDisconnect().wait(loop.waitScope());
    return 0;
  }
};

TEST_F(LostPeer, KilledInMidCallIsAPromptDisconnect) {
  auto sockets = socketPair();
  Child child([&sockets]() {
    sockets.second = nullptr;
    return serve(kj::mv(sockets.first));
  });
  sockets.first = nullptr;
  Loop loop;
  Connection client(loop, kj::mv(sockets.second), {.role = Role::kClient});
  auto echo = client.bootstrapAs<Echo>();
  ASSERT_EQ(waitFor(loop, ping(echo, 1)), 1u);
  auto call = echo.neverRequest().send().ignoreResult();
  EXPECT_FALSE(call.poll(loop.waitScope()));
  const auto start = loop.timer().now();
  child.kill(SIGKILL);
  EXPECT_EQ(failureOf([&]() { waitFor(loop, kj::mv(call)); }).getType(), kj::Exception::Type::DISCONNECTED);
  EXPECT_EQ(waitFor(loop, client.onDisconnect()), DisconnectCause::kPeerClosed);
  EXPECT_LT(loop.timer().now() - start, 2 * kj::SECONDS);
}

TEST(Connection, AStreamMethodMovesMoreThanItsWindow) {
  Loop loop;
  EchoPair pair(loop);
  constexpr size_t kPieces = 400;
  constexpr size_t kPiece = 8192;
  kj::Promise<void> sent = kj::READY_NOW;
  for (size_t i = 0; i < kPieces; ++i) {
    sent = sent.then([&pair]() {
      auto request = pair.echo.pushRequest();
      request.initData(kPiece);
      return request.send();
    });
  }
  waitFor(loop, kj::mv(sent));
  const auto bytes =
      waitFor(loop, pair.echo.pushedRequest().send().then([](auto response) { return response.getBytes(); }));
  EXPECT_EQ(bytes, kPieces * kPiece);
}

TEST(Connection, AnAnswerOverTheLimitFailsThatCallAlone) {
  Loop loop;
  ConnectionOptions small{.role = Role::kServer, .traversalLimitInWords = 1024};
  EchoPair pair(loop, {.role = Role::kClient}, small);
  auto request = pair.echo.bigRequest();
  request.setBytes(1 << 20);
  failureOf([&]() { waitFor(loop, request.send().ignoreResult()); });
  EXPECT_EQ(waitFor(loop, ping(pair.echo, 3)), 3u);
}

TEST(Connection, ARequestOverThePeersLimitEndsTheConnection) {
  Loop loop;
  ConnectionOptions small{.role = Role::kServer, .traversalLimitInWords = 1024};
  EchoPair pair(loop, {.role = Role::kClient}, small);
  auto request = pair.echo.neverRequest();
  request.initData(1 << 20);
  failureOf([&]() { waitFor(loop, request.send().ignoreResult()); });
  EXPECT_EQ(waitFor(loop, pair.server.onDisconnect()), DisconnectCause::kProtocolViolation);
}

// While calls over the flow limit keep us from reading, the end of the stream is not seen; the hang-up is.
TEST(Connection, APeerThatDiesWhileHeldBackIsNoticed) {
  Loop loop;
  ConnectionOptions tight{.role = Role::kServer, .flowLimitInWords = 512};
  auto sockets = socketPair();
  Connection server(loop, kj::mv(sockets.first), tight, capnp::Capability::Client(kj::heap<EchoServer>()));
  auto client =
      std::make_unique<Connection>(loop, kj::mv(sockets.second), ConnectionOptions{.role = Role::kClient});
  {
    auto echo = client->bootstrapAs<Echo>();
    auto calls = kj::Vector<kj::Promise<void>>();
    for (int i = 0; i < 8; ++i) {
      auto request = echo.neverRequest();
      request.initData(4096);
      calls.add(request.send().ignoreResult());
      EXPECT_FALSE(calls.back().poll(loop.waitScope()));
    }
  }
  client = nullptr;
  const auto start = loop.timer().now();
  EXPECT_EQ(waitFor(loop, server.onDisconnect()), DisconnectCause::kPeerClosed);
  EXPECT_LT(loop.timer().now() - start, 5 * kj::SECONDS);
}

TEST(Connection, ADeadlineOnACall) {
  Loop loop;
  EchoPair pair(loop);
  const auto failure = failureOf([&]() {
    withDeadline(loop.timer(), 10 * kj::MILLISECONDS, pair.echo.neverRequest().send().ignoreResult())
        .wait(loop.waitScope());
  });
  EXPECT_TRUE(isDeadlineExceeded(failure));
  EXPECT_EQ(waitFor(loop, ping(pair.echo, 8)), 8u);
}

// The same RPC over plain streams, on our port and on KJ's.
class PlainRpc : public testing::TestWithParam<Port> {};
INSTANTIATE_TEST_SUITE_P(Ports, PlainRpc, testing::Values(Port::kUv, Port::kKj),
                         [](const auto& parameter) { return parameter.param == Port::kUv ? "Uv" : "Kj"; });

TEST_P(PlainRpc, TwoPartyClientAndServer) {
  auto io = makeIo(GetParam());
  auto sockets = socketPair();
  auto clientStream = io->wrap(kj::mv(sockets.second));
  capnp::TwoPartyServer server(kj::heap<EchoServer>());
  server.accept(io->wrap(kj::mv(sockets.first)), 4);
  capnp::TwoPartyClient client(*clientStream, 4);
  auto echo = client.bootstrap().castAs<Echo>();
  for (uint64_t i = 0; i < 200; ++i) EXPECT_EQ(io->wait(ping(echo, i)), i);
  auto given = io->wait(
      echo.giveRequest().send().then([](auto response) { return takeDescriptor(response.getCarrier()); }));
  EXPECT_GE(given.get(), 0);
}

}  // namespace
}  // namespace factionos::rpc::test
