// What is remembered of logins, on a clock that only the test moves.
#include "workers/front/authenticator.h"

#include <string>

#include <gtest/gtest.h>

#include <kj/debug.h>
#include <kj/timer.h>

#include "protocol/rpc/compat.h"

namespace factionos::front {
namespace {

class Nothing final : public schema::Api::Server {};

class CountingGate final : public schema::Gate::Server {
 public:
  explicit CountingGate(int& asked) : asked_(asked) {}
  kj::Promise<void> token(TokenContext context) override {
    ++asked_;
    const auto token = context.getParams().getToken();
    if (token.size() > 0 && token[0] == 'g') context.getResults().initLogin().setApi(kj::heap<Nothing>());
    return kj::READY_NOW;
  }

 private:
  int& asked_;
};

class AuthenticatorTest : public testing::Test {
 protected:
  AuthenticatorTest()
      : wait_(loop_), timer_(kj::origin<kj::TimePoint>()), authenticator_(timer_, drawHashKey()) {
    authenticator_.connect(kj::heap<CountingGate>(asked_));
  }
  ~AuthenticatorTest() noexcept override {}

  LoginOutcome ask(std::string_view token) { return authenticator_.token(token).wait(wait_); }
  void advance(kj::Duration by) {
    now_ += by;
    timer_.advanceTo(kj::origin<kj::TimePoint>() + now_);
  }

  kj::EventLoop loop_;
  kj::WaitScope wait_;
  kj::TimerImpl timer_;
  kj::Duration now_ = 0 * kj::SECONDS;
  int asked_ = 0;
  Authenticator authenticator_;
};

TEST_F(AuthenticatorTest, AGoodTokenIsAskedAboutOnceUntilTheEpochChanges) {
  for (int i = 0; i < 5; ++i) EXPECT_NE(ask("good").login, nullptr);
  advance(3600 * kj::SECONDS);
  EXPECT_NE(ask("good").login, nullptr);
  EXPECT_EQ(asked_, 1);
  const auto epoch = authenticator_.epoch();
  authenticator_.setEpoch(7);
  EXPECT_NE(authenticator_.epoch(), epoch);
  ask("good");
  EXPECT_EQ(asked_, 2);
  authenticator_.setEpoch(7);
  ask("good");
  EXPECT_EQ(asked_, 2);
}

TEST_F(AuthenticatorTest, OneQuestionServesAllWhoAskMeanwhile) {
  auto first = authenticator_.token("good");
  auto second = authenticator_.token("good");
  EXPECT_NE(first.wait(wait_).login, nullptr);
  EXPECT_NE(second.wait(wait_).login, nullptr);
  EXPECT_EQ(asked_, 1);
}

TEST_F(AuthenticatorTest, AnAnswerFromBeforeTheEpochChangedIsNotRemembered) {
  auto asking = authenticator_.token("good");
  authenticator_.setEpoch(7);
  asking.wait(wait_);
  ask("good");
  EXPECT_EQ(asked_, 2);
}

TEST_F(AuthenticatorTest, ARefusalIsRememberedForASecondAtMost) {
  ask("bad");
  advance(999 * kj::MILLISECONDS);
  ask("bad");
  EXPECT_EQ(asked_, 1);
  advance(1 * kj::MILLISECONDS);
  ask("bad");
  EXPECT_EQ(asked_, 2);
}

TEST_F(AuthenticatorTest, GuessesAreBoundedByABucketThatRefills) {
  for (int i = 0; i < 100; ++i) ask("bad" + std::to_string(i));
  EXPECT_EQ(asked_, static_cast<int>(kFailureBurst));
  EXPECT_EQ(ask("another").code, schema::ProblemCode::RATE_LIMITED);
  advance(1 * kj::SECONDS);
  for (int i = 100; i < 200; ++i) ask("bad" + std::to_string(i));
  EXPECT_EQ(asked_, static_cast<int>(kFailureBurst + kFailuresPerSecond));
}

TEST_F(AuthenticatorTest, WhatCantBeATokenIsNotAskedAbout) {
  for (const std::string& token : {std::string(), std::string("a b"), std::string("g\0", 2),
                                   std::string(513, 'g'), std::string("g\xc3")})
    EXPECT_EQ(ask(token).code, schema::ProblemCode::UNAUTHENTICATED);
  EXPECT_EQ(asked_, 0);
  EXPECT_NE(ask(std::string(512, 'g')).login, nullptr);
}

TEST_F(AuthenticatorTest, TheOneUnusedForLongestIsForgotten) {
  for (std::size_t i = 0; i < kMaxLogins; ++i) ask("g" + std::to_string(i));
  ask("g0");  // used again: g1 is the oldest now
  ask("gnew");
  const int before = asked_;
  ask("g0");
  EXPECT_EQ(asked_, before);
  ask("g1");
  EXPECT_EQ(asked_, before + 1);
}

TEST_F(AuthenticatorTest, ALostBrokerIsARefusalThatIsNotRemembered) {
  authenticator_.connect(schema::Gate::Client(KJ_EXCEPTION(DISCONNECTED, "gone")));
  EXPECT_EQ(ask("good").code, schema::ProblemCode::NOT_READY);
  authenticator_.connect(kj::heap<CountingGate>(asked_));
  EXPECT_NE(ask("good").login, nullptr);
}

}  // namespace
}  // namespace factionos::front
