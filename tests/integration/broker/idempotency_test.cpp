#include <filesystem>
#include <thread>

#include "live_broker.h"

namespace factionos::test {
namespace {

const std::string kCount = R"("shell":"echo x >>count")";

std::string countOf(const LiveBroker& broker) {
  return readFile(broker.workspace() + "/count");
}

TEST(Idempotency, C1_TheSameRequestTwiceHasOneEffectAndOneAnswer) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto first = broker.run(kCount, token, "k1");
  ASSERT_EQ(first.status, 201);
  broker.ended(first.at("/session/id"), token);
  const auto again = broker.propose(kCount, token, "k1");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.headers.count("idempotency-replayed"), 1U);
  EXPECT_EQ(first.headers.count("idempotency-replayed"), 0U);
  const auto withApproval = broker.execute(kCount, token, "k1", first.at("/action/id"));
  EXPECT_EQ(withApproval.body, first.body);
  EXPECT_EQ(countOf(broker), "x\n");
}

TEST(Idempotency, C3_TheSameKeyWithAnotherBodyIsRefusedAndTheFirstStays) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto first = broker.run(kCount, token, "k1");
  broker.ended(first.at("/session/id"), token);
  const auto other = broker.propose(R"("shell":"echo y >>count")", token, "k1");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.code(), "idempotency_mismatch");
  EXPECT_EQ(broker.propose(kCount, token, "k1").body, first.body);
  EXPECT_EQ(countOf(broker), "x\n");
}

TEST(Idempotency, C5_FiftyInParallelHaveOneEffect) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto proposed = broker.propose(kCount, token, "k1");
  ASSERT_EQ(proposed.status, 202);
  const auto id = proposed.at("/action/id");
  ASSERT_EQ(broker.approve(id).status, 0);
  std::vector<Reply> replies(50);
  std::vector<std::thread> threads;
  for (auto& reply : replies)
    threads.emplace_back([&]() { reply = broker.execute(kCount, token, "k1", id); });
  for (auto& thread : threads) thread.join();
  std::string session;
  for (const auto& reply : replies) {
    EXPECT_TRUE(reply.status == 201 || reply.status == 409) << reply.status << reply.body;
    if (reply.status == 409) {
      EXPECT_EQ(reply.code(), "in_flight");
    }
    if (reply.status == 201) session = reply.at("/session/id");
  }
  ASSERT_FALSE(session.empty());
  broker.ended(session, token);
  EXPECT_EQ(countOf(broker), "x\n");
}

TEST(Idempotency, P79_TwentyProposalsInParallelMakeOneAction) {
  LiveBroker broker;
  const auto token = broker.token();
  std::vector<Reply> replies(20);
  std::vector<std::thread> threads;
  for (auto& reply : replies) threads.emplace_back([&]() { reply = broker.propose(kCount, token, "k1"); });
  for (auto& thread : threads) thread.join();
  for (const auto& reply : replies) EXPECT_TRUE(reply.status == 202 || reply.status == 409) << reply.body;
  const auto list = broker.get("/v1/actions", token);
  EXPECT_TRUE(list.has("/actions/0"));
  EXPECT_FALSE(list.has("/actions/1"));
  EXPECT_EQ(broker.propose(R"("shell":"echo z")", token, "k1").status, 422);
}

TEST(Idempotency, C7_AFailedValidationStoresNothing) {
  LiveBroker broker;
  const auto token = broker.token();
  EXPECT_EQ(broker.propose(R"("command":["no-such-program-here"])", token, "k1").status, 400);
  EXPECT_EQ(broker.propose(R"("command":["true"],"shell":"true")", token, "k1").status, 400);
  EXPECT_EQ(broker.propose(R"("command":["true"])", token, "k1").status, 202);
}

TEST(Idempotency, C8_AFailureAfterTheStartIsReplayed) {
  LiveBroker broker;
  const auto token = broker.token();
  const auto first = broker.run(R"("shell":"echo x >>count; exit 9")", token, "k1");
  const auto ended = broker.ended(first.at("/session/id"), token);
  EXPECT_EQ(ended.at("/session/outcome"), "failed");
  EXPECT_EQ(broker.propose(R"("shell":"echo x >>count; exit 9")", token, "k1").body, first.body);
  EXPECT_EQ(countOf(broker), "x\n");
}

TEST(Idempotency, C9_AKeyOfAWrongShapeIsRefusedAndNeverRepeated) {
  LiveBroker broker;
  const auto token = broker.token();
  for (const std::string& key :
       {std::string(256, 'k'), std::string("k\xc3\xa9y"), std::string("\"quoted\"")}) {
    const auto reply = broker.propose(R"("command":["true"])", token, key);
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(reply.body.find(key), std::string::npos);
  }
  const auto none = broker.propose(R"("command":["true"])", token, "");
  EXPECT_EQ(none.status, 400);
  EXPECT_EQ(none.code(), "idempotency_key_required");
  EXPECT_EQ(broker.process().err().find(std::string(256, 'k')), std::string::npos);
}

TEST(Idempotency, KeysBelongToTheirPrincipal) {
  LiveBroker broker;
  EXPECT_EQ(broker.propose(R"("command":["true"])", broker.token("read,propose", "a"), "k1").status, 202);
  EXPECT_EQ(broker.propose(R"("command":["false"])", broker.token("read,propose", "b"), "k1").status, 202);
}

}  // namespace
}  // namespace factionos::test
