// The connection between pipes in memory, on a clock that only the test moves.
#include "workers/front/connection.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <kj/async-io.h>
#include <kj/debug.h>
#include <kj/timer.h>

#include "tests/unit/front/inputs.h"

namespace factionos::front {
namespace {

class FakeWork final : public Work {
 public:
  FakeWork(Departure departure, kj::Promise<void> until, std::string& body)
      : departure_(departure), until_(kj::mv(until)), body_(body) {}
  ~FakeWork() noexcept override {}
  kj::Promise<Reply> run(std::string body) override {
    body_ = std::move(body);
    return until_.then([] { return Reply(); });
  }
  [[nodiscard]] Departure departure() const override { return departure_; }

 private:
  Departure departure_;
  kj::Promise<void> until_;
  std::string& body_;
};

// /work answers when the test says so, /read likewise but may be cancelled, everything else at once.
class FakeHandler final : public Handler {
 public:
  ~FakeHandler() noexcept override {}
  kj::Promise<Plan> plan(const Request& request, Peer&) override {
    seen += std::string(request.head.method) + " " + std::string(request.path) + "\n";
    if (request.path == "/throws") KJ_FAIL_REQUIRE("canary");
    if (request.path == "/work" || request.path == "/read") {
      auto until = kj::newPromiseAndFulfiller<void>();
      finish = kj::mv(until.fulfiller);
      const auto departure = request.path == "/work" ? Work::Departure::kFinish : Work::Departure::kCancel;
      return Plan(std::make_unique<FakeWork>(departure, kj::mv(until.promise), body));
    }
    Reply reply;
    reply.body = std::make_shared<const std::string>("body");
    return Plan(std::move(reply));
  }
  Reply refuse(schema::ProblemCode code, std::string_view) override {
    refused = code;
    Reply reply;
    reply.status = 400;
    return reply;
  }
  void answered(const Reply&) override { ++answers; }

  std::string seen;
  std::string body;
  schema::ProblemCode refused = schema::ProblemCode::UNSPECIFIED;
  int answers = 0;
  kj::Own<kj::PromiseFulfiller<void>> finish;
};

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest()
      : wait_(loop_), timer_(kj::origin<kj::TimePoint>()), bodies_(1 << 20), pipe_(kj::newTwoWayPipe()) {
    services_ = kj::heap<ConnectionServices>(ConnectionServices{timer_, handler_, {}, bodies_, 1, "req_", 0});
    connection_ = kj::heap<Connection>(kj::mv(pipe_.ends[0]), Transport::kTcp, *services_);
    serving_ = connection_->serve().then([this] { over_ = true; }).eagerlyEvaluate(nullptr);
  }

  ~ConnectionTest() noexcept override {}

  void send(std::string_view text) {
    const auto copy = kj::heapString(text.data(), text.size());
    pipe_.ends[1]->write(copy.begin(), copy.size()).wait(wait_);
    wait_.poll();
  }
  // What has been written up to now.
  std::string read() {
    std::string all;
    for (char piece[4096];;) {
      auto reading = pipe_.ends[1]->tryRead(piece, 1, sizeof piece);
      if (!reading.poll(wait_)) return all;
      const std::size_t count = reading.wait(wait_);
      if (count == 0) return all + "[end]";
      all.append(piece, count);
    }
  }
  void advance(kj::Duration by) {
    now_ += by;
    timer_.advanceTo(kj::origin<kj::TimePoint>() + now_);
    wait_.poll();
  }
  void leave() {
    pipe_.ends[1]->shutdownWrite();
    wait_.poll();
  }

  kj::EventLoop loop_;
  kj::WaitScope wait_;
  kj::TimerImpl timer_;
  kj::Duration now_ = 0 * kj::SECONDS;
  FakeHandler handler_;
  BodyBudget bodies_;
  kj::TwoWayPipe pipe_;
  kj::Own<ConnectionServices> services_;
  kj::Own<Connection> connection_;
  bool over_ = false;
  kj::Promise<void> serving_ = nullptr;
};

std::string request(std::string_view line, std::string_view lines = {}) {
  return std::string(line) + " HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n";
}

TEST_F(ConnectionTest, AnswersRequestsInTheirOrder) {
  send(request("GET /1") + request("GET /2") + request("GET /3"));
  const std::string text = read();
  EXPECT_EQ(handler_.seen, "GET /1\nGET /2\nGET /3\n");
  EXPECT_LT(text.find("req_1\r\n"), text.find("req_2\r\n"));
  EXPECT_LT(text.find("req_2\r\n"), text.find("req_3\r\n"));
  EXPECT_FALSE(over_);
}

TEST_F(ConnectionTest, TheNextRequestWaitsForTheAnswerBeforeIt) {
  send(request("POST /work") + request("GET /2"));
  EXPECT_EQ(handler_.seen, "POST /work\n");
  EXPECT_EQ(read(), "");
  handler_.finish->fulfill();
  EXPECT_NE(read(), "");
  EXPECT_EQ(handler_.seen, "POST /work\nGET /2\n");
}

TEST_F(ConnectionTest, F9_HeaderTimeRunsFromTheFirstByteAndNothingProlongsIt) {
  advance(9 * kj::SECONDS);
  send("GET / HT");
  advance(9 * kj::SECONDS);
  send("TP/1.1\r\n");
  EXPECT_EQ(read(), "");
  advance(2 * kj::SECONDS);
  EXPECT_EQ(handler_.refused, schema::ProblemCode::REQUEST_TIMEOUT);
  EXPECT_NE(read().find("Connection: close"), std::string::npos);
  EXPECT_FALSE(over_) << "it lingers";
  advance(kLinger);
  EXPECT_TRUE(over_);
}

TEST_F(ConnectionTest, AnIdleConnectionIsClosedWithoutAnAnswer) {
  send(request("GET /1"));
  read();
  advance(59 * kj::SECONDS);
  EXPECT_FALSE(over_);
  advance(1 * kj::SECONDS);
  EXPECT_TRUE(over_);
  EXPECT_EQ(handler_.answers, 1);
}

TEST_F(ConnectionTest, ABodyHasADeadlineAndARate) {
  const std::string start = request("POST /work", "Content-Length: 1000000\r\n");
  send(start);
  for (int window = 0; window < 5; ++window) {
    send(std::string(2600, ' '));  // just above 512 bytes a second
    advance(5 * kj::SECONDS);
    EXPECT_EQ(handler_.refused, schema::ProblemCode::UNSPECIFIED) << window;
  }
  send(std::string(2600, ' '));
  advance(5 * kj::SECONDS);
  EXPECT_EQ(handler_.refused, schema::ProblemCode::REQUEST_TIMEOUT) << "30 s have passed";
}

TEST_F(ConnectionTest, ABodyBelowTheRateIsCutOffAfterOneWindow) {
  send(request("POST /work", "Content-Length: 1000000\r\n"));
  send(std::string(2500, ' '));
  advance(5 * kj::SECONDS);
  EXPECT_EQ(handler_.refused, schema::ProblemCode::REQUEST_TIMEOUT);
}

TEST_F(ConnectionTest, BodiesOverTheSharedBudgetAreTurnedAwayAndTheBudgetComesBack) {
  send(request("POST /work", "Content-Length: 1048577\r\n"));
  EXPECT_EQ(handler_.refused, schema::ProblemCode::RATE_LIMITED);
  EXPECT_TRUE(bodies_.take(1 << 20));
  bodies_.give(1 << 20);
}

TEST_F(ConnectionTest, TheBudgetComesBackWhenAClientLeavesInTheMiddle) {
  send(request("POST /work", "Content-Length: 1000000\r\n") + "{");
  EXPECT_FALSE(bodies_.take(1 << 20));
  leave();
  EXPECT_TRUE(over_);
  connection_ = nullptr;
  EXPECT_TRUE(bodies_.take(1 << 20));
}

TEST_F(ConnectionTest, AReadIsDroppedWhenItsClientLeaves) {
  send(request("GET /read"));
  leave();
  EXPECT_TRUE(handler_.finish->isWaiting()) << "a half-closed client may still want a quick answer";
  advance(kLinger);
  EXPECT_FALSE(handler_.finish->isWaiting());
}

TEST_F(ConnectionTest, WhatMayHaveAnEffectIsWaitedForWhoeverLeaves) {
  send(request("POST /work"));
  leave();
  advance(60 * kj::SECONDS);
  EXPECT_TRUE(handler_.finish->isWaiting());
  EXPECT_FALSE(over_);
  handler_.finish->fulfill();
  wait_.poll();
  read();
  EXPECT_EQ(handler_.answers, 1);
}

TEST_F(ConnectionTest, AClientThatReadsNothingIsGivenUp) {
  send(request("GET /1"));  // nobody reads: the pipe in memory holds nothing
  advance(10 * kj::SECONDS);
  EXPECT_TRUE(over_);
}

TEST_F(ConnectionTest, PipeliningIsBoundedByTheInlet) {
  send(request("POST /work"));
  const std::string flood(2 * kInletBytes, 'x');
  auto writing = pipe_.ends[1]->write(flood.data(), flood.size());
  EXPECT_FALSE(writing.poll(wait_)) << "the rest stays with the client";
}

TEST_F(ConnectionTest, A100IsSentToWhoWaitsForItAndTheBodyRead) {
  send(request("POST /work", "Content-Length: 2\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(read(), "HTTP/1.1 100 Continue\r\n\r\n");
  send("{}");
  EXPECT_EQ(handler_.body, "{}");
}

TEST_F(ConnectionTest, WhoIsRefusedIsNotInvitedToSendABody) {
  send(request("POST /refused", "Content-Length: 2\r\nExpect: 100-continue\r\n"));
  const std::string text = read();
  EXPECT_EQ(text.find("100 Continue"), std::string::npos);
  EXPECT_NE(text.find("Connection: close"), std::string::npos) << "it may send the body all the same";
}

TEST_F(ConnectionTest, ASmallBodyBehindARefusalIsSteppedOver) {
  send(request("POST /refused", "Content-Length: 5\r\n") + "GET /" + request("GET /2"));
  EXPECT_EQ(read().find("Connection: close"), std::string::npos);
  EXPECT_EQ(handler_.seen, "POST /refused\nGET /2\n");
}

TEST_F(ConnectionTest, AnExceptionOfTheHandlerIsA500AndCounted) {
  send(request("GET /throws"));
  EXPECT_EQ(read().find("canary"), std::string::npos);
  EXPECT_EQ(services_->failures, 1U);
}

TEST_F(ConnectionTest, NothingIsReadBehindARefusal) {
  send("BAD\r\n\r\n" + request("GET /2"));
  EXPECT_TRUE(read().ends_with("[end]"));
  EXPECT_EQ(handler_.seen, "");
  EXPECT_EQ(handler_.answers, 1);
  advance(kLinger);
  EXPECT_TRUE(over_);
}

TEST_F(ConnectionTest, FinishLetsTheAnswerUnderWayOutAndSaysClose) {
  send(request("POST /work"));
  connection_->finish();
  wait_.poll();
  EXPECT_FALSE(over_);
  handler_.finish->fulfill();
  wait_.poll();
  EXPECT_NE(read().find("Connection: close"), std::string::npos);
}

}  // namespace
}  // namespace factionos::front
