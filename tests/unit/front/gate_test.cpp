#include "workers/front/gate.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/front/inputs.h"
#include "workers/front/parser.h"
#include "workers/front/semantics.h"

namespace factionos::front {
namespace {

int statusOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return 0;
    case Refusal::kMalformed:
      return 400;
    case Refusal::kLengthRequired:
      return 411;
    case Refusal::kTargetTooLong:
      return 414;
    case Refusal::kExpectationFailed:
      return 417;
    case Refusal::kHeaderTooLarge:
      return 431;
    case Refusal::kVersionUnsupported:
      return 505;
  }
  return -1;
}

// What gate, semantics and parser make of the first request in `bytes`: 0 lets it pass, -1 waits for more of
// its header.
int judge(std::string_view bytes, std::size_t step) {
  HeaderGate gate;
  for (std::size_t at = 0; at < bytes.size() && gate.state() == HeaderGate::State::kMore; at += step)
    gate.feed(bytes.substr(at, step));
  if (gate.state() == HeaderGate::State::kRefused) return statusOf(gate.refusal());
  if (gate.state() == HeaderGate::State::kMore) return -1;
  const std::string_view block = bytes.substr(0, gate.length());
  HeaderBlock head;
  splitHeaderBlock(block, head);
  Semantics semantics;
  if (const Refusal refusal = checkSemantics(head, semantics); refusal != Refusal::kNone)
    return statusOf(refusal);
  RequestParser parser;
  const auto status = parser.putHeader(block, head, semantics);
  if (status == RequestParser::Status::kTooLarge) return 413;
  return status == RequestParser::Status::kMalformed ? 400 : 0;
}

class EveryInput : public testing::TestWithParam<test::Input> {};

TEST_P(EveryInput, F8_IsJudgedAsTheTableSays) {
  const test::Input& input = GetParam();
  const int expected = input.judge == test::Judge::kHeader ? input.statuses.front() : 0;
  const int whole = judge(input.bytes, input.bytes.size());
  // A body above every route's limit is the parser's to refuse as well.
  if (input.name.starts_with("49c")) {
    EXPECT_EQ(whole, 413);
    return;
  }
  EXPECT_EQ(whole, expected);
  EXPECT_EQ(judge(input.bytes, 1), expected) << "byte by byte";
  EXPECT_EQ(judge(input.bytes, 7), expected) << "seven bytes at a time";
}

INSTANTIATE_TEST_SUITE_P(Gate, EveryInput, testing::ValuesIn(test::inputs()), [](const auto& named) {
  std::string name;
  for (const char c : named.param.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(Gate, StopsAtTheEndOfTheBlockAndLeavesWhatFollows) {
  HeaderGate gate;
  const std::string block = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(gate.feed(block + "rest"), HeaderGate::State::kComplete);
  EXPECT_EQ(gate.length(), block.size());
}

TEST(Gate, TakesABlockOfExactlyTheLimitAndNoByteMore) {
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const std::string fits = start + std::string(kMaxHeaderBytes - start.size() - 4, 'a') + "\r\n\r\n";
  ASSERT_EQ(fits.size(), kMaxHeaderBytes);
  EXPECT_EQ(HeaderGate().feed(fits), HeaderGate::State::kComplete);
  const std::string over = start + std::string(kMaxHeaderBytes - start.size() - 3, 'a') + "\r\n\r\n";
  HeaderGate gate;
  EXPECT_EQ(gate.feed(over), HeaderGate::State::kRefused);
  EXPECT_EQ(gate.refusal(), Refusal::kHeaderTooLarge);
}

TEST(Gate, EveryControlCharacterIsRefusedEverywhere) {
  const std::string block = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
  for (int control = 0; control < 0x20; ++control) {
    for (std::size_t at = 0; at < block.size(); ++at) {
      if (block[at] == '\r' || block[at] == '\n') continue;
      std::string spoiled = block;
      spoiled[at] = static_cast<char>(control);
      const bool tabInValue = control == '\t' && at > block.find("Host:") + 4;
      EXPECT_EQ(HeaderGate().feed(spoiled) == HeaderGate::State::kRefused, !tabInValue)
          << control << " at " << at;
    }
  }
}

TEST(Gate, LineEndsAreExactlyCrLf) {
  const std::string block = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t at = 0; at < block.size(); ++at) {
    if (block[at] != '\r' && block[at] != '\n') continue;
    for (const char other : {'\r', '\n', ' ', 'x', '\0'}) {
      std::string spoiled = block;
      if (spoiled[at] == other) continue;
      spoiled[at] = other;
      EXPECT_NE(HeaderGate().feed(spoiled), HeaderGate::State::kComplete)
          << static_cast<int>(other) << " at " << at;
    }
  }
}

TEST(Gate, SplitsWhatItLetThrough) {
  const std::string block = "POST /a?b=c HTTP/1.0\r\nHost:localhost\r\nX-Empty:\r\nX-Odd: \t v w\t \r\n\r\n";
  HeaderBlock head;
  splitHeaderBlock(block, head);
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/a?b=c");
  EXPECT_EQ(head.minorVersion, 0);
  ASSERT_EQ(head.fields.size(), 3U);
  EXPECT_EQ(head.fields[0].value, "localhost");
  EXPECT_EQ(head.fields[1].value, "");
  EXPECT_EQ(head.fields[2].value, "v w");
}

TEST(Semantics, ConnectionIsOneListOverItsLines) {
  HeaderBlock head{
      "GET", "/", 1, {{"Host", "a"}, {"Connection", "keep-alive"}, {"connection", "foo , CLOSE"}}};
  Semantics semantics;
  EXPECT_EQ(checkSemantics(head, semantics), Refusal::kNone);
  EXPECT_EQ(semantics.persistence, Persistence::kClose);
  EXPECT_FALSE(semantics.connectionUpgrade);
}

TEST(Semantics, ExpectIsForHttp11Alone) {
  HeaderBlock head{"POST", "/", 0, {{"Host", "a"}, {"Expect", "100-Continue"}, {"Content-Length", "2"}}};
  Semantics semantics;
  EXPECT_EQ(checkSemantics(head, semantics), Refusal::kNone);
  EXPECT_EQ(semantics.expect, Expect::kNothing);
  head.minorVersion = 1;
  EXPECT_EQ(checkSemantics(head, semantics), Refusal::kNone);
  EXPECT_EQ(semantics.expect, Expect::kContinue);
}

TEST(Parser, ReadsABodyInPiecesAndLeavesWhatFollows) {
  const std::string block = "POST /event HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
  HeaderBlock head;
  splitHeaderBlock(block, head);
  Semantics semantics;
  ASSERT_EQ(checkSemantics(head, semantics), Refusal::kNone);
  RequestParser parser;
  ASSERT_EQ(parser.putHeader(block, head, semantics), RequestParser::Status::kMore);
  std::size_t used = 0;
  EXPECT_EQ(parser.putBody("ab", used), RequestParser::Status::kMore);
  EXPECT_EQ(used, 2U);
  EXPECT_EQ(parser.missing(), 3U);
  EXPECT_EQ(parser.putBody("cdeGET /", used), RequestParser::Status::kDone);
  EXPECT_EQ(used, 3U);
  EXPECT_EQ(parser.takeBody(), "abcde");
}

TEST(Parser, AnotherReadingThanTheGatesIsRefused) {
  const std::string block = "GET /a HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n";
  HeaderBlock head;
  splitHeaderBlock(block, head);
  Semantics semantics;
  ASSERT_EQ(checkSemantics(head, semantics), Refusal::kNone);
  HeaderBlock otherTarget = head;
  otherTarget.target = "/b";
  EXPECT_EQ(RequestParser().putHeader(block, otherTarget, semantics), RequestParser::Status::kMalformed);
  HeaderBlock fewerFields = head;
  fewerFields.fields.pop_back();
  EXPECT_EQ(RequestParser().putHeader(block, fewerFields, semantics), RequestParser::Status::kMalformed);
  EXPECT_EQ(RequestParser().putHeader(block, head, semantics), RequestParser::Status::kDone);
}

TEST(Parser, WebSocketAcceptIsTheOneOfTheRfc) {
  EXPECT_EQ(webSocketAccept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_TRUE(isWebSocketKey("dGhlIHNhbXBsZSBub25jZQ=="));
  EXPECT_FALSE(isWebSocketKey("dGhlIHNhbXBsZSBub25jZQ="));
  EXPECT_FALSE(isWebSocketKey(""));
}

TEST(Parser, ReasonPhrasesAreThoseOfTheRfc) {
  EXPECT_EQ(reasonPhrase(200), "OK");
  EXPECT_EQ(reasonPhrase(431), "Request Header Fields Too Large");
  EXPECT_EQ(reasonPhrase(299), "Unknown");
}

}  // namespace
}  // namespace factionos::front
