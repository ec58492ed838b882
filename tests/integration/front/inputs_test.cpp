// Every input of the table, sent to the real process.
#include "tests/integration/front/fixture.h"

namespace factionos::front::test {
namespace {

std::vector<int> statuses(const std::vector<Answer>& answers) {
  std::vector<int> all;
  for (const Answer& answer : answers) all.push_back(answer.status);
  return all;
}

void expectOutcome(const Running& running, const Input& input) {
  const Body body = input.bytes.starts_with("HEAD ") ? Body::kNone : Body::kAsSaid;
  RawClient client = running.client();
  client.send(input.bytes);
  if (input.end == End::kClosed) {
    const std::vector<Answer> answers = cutAnswers(client.readToEnd(), body);
    EXPECT_EQ(statuses(answers), input.statuses);
    ASSERT_FALSE(answers.empty());
    EXPECT_EQ(answers.back().field("connection"), "close");
    return;
  }
  for (const int status : input.statuses) EXPECT_EQ(client.read(body).status, status);
  EXPECT_TRUE(client.buffered().empty()) << client.buffered();
  // What was left open still serves, from the very next byte on.
  const bool invited = input.statuses == std::vector<int>{100};
  client.send(invited ? "{}" : get());
  EXPECT_EQ(client.read().status, invited ? 202 : 200);
}

void expectLabels(const Running& running, const Input& input) {
  RawClient client = running.client();
  client.send(input.bytes);
  if (input.statuses.front() == 100) {
    client.read();  // an interim answer has no content
    client.send("{}");
  }
  const Answer answer = client.read(input.bytes.starts_with("HEAD ") ? Body::kNone : Body::kAsSaid);
  EXPECT_TRUE(answer.field("x-request-id").starts_with("req_"));
  EXPECT_EQ(answer.field("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.field("cache-control"), "no-store");
  EXPECT_EQ(answer.field("access-control-allow-origin"), "");
  EXPECT_EQ(answer.field("content-type") == "application/problem+json", answer.status >= 400);
}

TEST(EveryInput, F8_ComesOutAsTheTableSays) {
  Running running;
  for (const Input& input : inputs()) {
    SCOPED_TRACE(input.name);
    expectOutcome(running, input);
  }
  EXPECT_EQ(running.front.events().size(), 1U) << "serving, and nothing else";
}

TEST(EveryInput, F8_EveryAnswerSaysWhatItIs) {
  const Running running;
  for (const Input& input : inputs()) {
    SCOPED_TRACE(input.name);
    expectLabels(running, input);
  }
}

}  // namespace
}  // namespace factionos::front::test
