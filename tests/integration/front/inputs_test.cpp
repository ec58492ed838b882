// Every input of the table, sent to the real process.
#include <cctype>

#include "tests/integration/front/fixture.h"

namespace factionos::front::test {
namespace {

class EveryInput : public testing::TestWithParam<Input> {
 protected:
  static void SetUpTestSuite() { running_ = std::make_unique<Running>(); }
  static void TearDownTestSuite() {
    EXPECT_EQ(running_->front.events().size(), 1U) << "serving, and nothing else";
    running_.reset();
  }
  static std::unique_ptr<Running> running_;
};
std::unique_ptr<Running> EveryInput::running_;

std::vector<int> statuses(const std::vector<Answer>& answers) {
  std::vector<int> all;
  for (const Answer& answer : answers) all.push_back(answer.status);
  return all;
}

TEST_P(EveryInput, F8_ComesOutAsTheTableSays) {
  const Input& input = GetParam();
  const Body body =
      input.bytes.starts_with("HEAD ") && input.statuses.front() == 200 ? Body::kNone : Body::kAsSaid;
  RawClient client = running_->client();
  client.send(input.bytes);
  if (input.end == End::kClosed) {
    std::vector<Answer> answers =
        cutAnswers(client.readToEnd(), input.bytes.starts_with("HEAD ") ? Body::kNone : body);
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

TEST_P(EveryInput, F8_EveryAnswerSaysWhatItIs) {
  const Input& input = GetParam();
  RawClient client = running_->client();
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

INSTANTIATE_TEST_SUITE_P(Front, EveryInput, testing::ValuesIn(inputs()), [](const auto& named) {
  std::string name;
  for (const char c : named.param.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace factionos::front::test
