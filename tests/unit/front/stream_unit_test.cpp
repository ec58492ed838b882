// The streams' times, on a clock that only the test moves.
#include <string>

#include <gtest/gtest.h>

#include <kj/async-io.h>
#include <kj/timer.h>

#include "protocol/rpc/compat.h"
#include "workers/front/authenticator.h"
#include "workers/front/inlet.h"
#include "workers/front/outlet.h"
#include "workers/front/stream.h"

namespace factionos::front {
namespace {

class AnyoneIsWelcome final : public schema::Gate::Server {
 public:
  kj::Promise<void> token(TokenContext context) override {
    auto login = context.getResults().initLogin();
    login.setApi(kj::heap<Nothing>());
    login.initScopes(1).set(0, schema::Scope::READ);
    return kj::READY_NOW;
  }

 private:
  class Nothing final : public schema::Api::Server {};
};

class StreamClock : public testing::Test {
 protected:
  StreamClock()
      : wait_(loop_),
        timer_(kj::origin<kj::TimePoint>()),
        authenticator_(timer_, drawHashKey()),
        snapshots_(routes_),
        services_{timer_, authenticator_, snapshots_, reader_, {}},
        pipe_(kj::newTwoWayPipe()),
        inlet_(*pipe_.ends[0]),
        outlet_(*pipe_.ends[0], timer_, 10 * kj::SECONDS) {
    authenticator_.connect(kj::heap<AnyoneIsWelcome>());
    request_.block =
        "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\nSec-WebSocket-Key: "
        "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    splitHeaderBlock(request_.block, request_.head);
    peer_.transport = Transport::kTcp;
  }

  ~StreamClock() noexcept override {}

  void run(std::unique_ptr<Takeover> stream) {
    stream_ = std::move(stream);
    running_ = stream_->run(inlet_, outlet_).then([this] { over_ = true; }).eagerlyEvaluate(nullptr);
  }
  std::string read() {
    std::string all;
    for (char piece[4096];;) {
      auto reading = pipe_.ends[1]->tryRead(piece, 1, sizeof piece);
      if (!reading.poll(wait_)) return all;
      all.append(piece, reading.wait(wait_));
    }
  }
  void send(std::string_view bytes) {
    pipe_.ends[1]->write(bytes.data(), bytes.size()).wait(wait_);
    wait_.poll();
  }
  void advance(kj::Duration by) {
    now_ += by;
    timer_.advanceTo(kj::origin<kj::TimePoint>() + now_);
    wait_.poll();
  }

  kj::EventLoop loop_;
  kj::WaitScope wait_;
  kj::TimerImpl timer_;
  kj::Duration now_ = 0 * kj::SECONDS;
  json::RouteTable routes_;
  json::RequestReader reader_;
  Authenticator authenticator_;
  SnapshotStore snapshots_;
  StreamServices services_;
  kj::TwoWayPipe pipe_;
  Inlet inlet_;
  Outlet outlet_;
  Request request_;
  Peer peer_;
  std::unique_ptr<Takeover> stream_;
  bool over_ = false;
  kj::Promise<void> running_ = nullptr;
};

TEST_F(StreamClock, AnEventStreamSaysThatItLivesEvery15Seconds) {
  run(eventStream(services_, request_, peer_, {}));
  EXPECT_TRUE(read().ends_with("\r\n\r\n"));
  advance(14 * kj::SECONDS);
  EXPECT_EQ(read(), "");
  advance(1 * kj::SECONDS);
  EXPECT_EQ(read(), ":\n\n");
  advance(15 * kj::SECONDS);
  EXPECT_EQ(read(), ":\n\n");
}

// Masked with zeros.
std::string masked(char firstByte, std::string_view payload) {
  return std::string{firstByte, static_cast<char>(0x80U | payload.size())} + std::string(4, '\0') +
         std::string(payload);
}

TEST_F(StreamClock, AWebSocketIsPingedAndGivenUpWhenItDoesNotAnswer) {
  run(webSocketStream(services_, request_, peer_));
  read();
  send(masked('\x81', R"({"token":"t"})"));
  EXPECT_EQ(read(), "") << "no snapshot yet";
  advance(30 * kj::SECONDS);
  EXPECT_EQ(read(), std::string("\x89\0", 2)) << "a ping";
  send(masked('\x8a', ""));
  advance(30 * kj::SECONDS);
  EXPECT_EQ(read(), std::string("\x89\0", 2));
  EXPECT_FALSE(over_);
  advance(30 * kj::SECONDS);
  EXPECT_TRUE(over_);
}

TEST_F(StreamClock, AWebSocketWithoutAHelloIsClosedAfterTwoSecondsAndLetGoAfterAnother) {
  run(webSocketStream(services_, request_, peer_));
  read();
  advance(2 * kj::SECONDS - 1 * kj::MILLISECONDS);
  EXPECT_EQ(read(), "");
  advance(1 * kj::MILLISECONDS);
  EXPECT_NE(read().find("hello_timeout"), std::string::npos);
  EXPECT_FALSE(over_);
  advance(1 * kj::SECONDS);
  EXPECT_TRUE(over_);
}

}  // namespace
}  // namespace factionos::front
