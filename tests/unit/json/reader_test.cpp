#include <string>

#include <gtest/gtest.h>
#include <sodium.h>

#include "protocol/schemas/api.capnp.h"
#include "tests/unit/json/fixture.h"
#include "tests/unit/json/sample.capnp.h"

namespace factionos::json {
namespace {

using sample::Loose;
using sample::Sample;

TEST(Reader, EveryTypeIsRead) {
  Read<Sample> read(
      R"({"flag":true,"i8":-128,"i16":-32768,"i32":-2147483648,"i64":-9223372036854775808,"u8":255,"u16":65535,
    "u32":4294967295,"u64":18446744073709551615,"ranged":-5,"text":"\u00e9\ud83d\ude00","colour":"blue2_green",
    "when":"2024-02-29T00:00:00.001Z","inner":{"name":"ab","count":7},"inners":[{"name":"xx"},{"name":"yy","count":1}],
    "colours":["deep_red"],"numbers":[1,10],"words":["abcd",""],"flags":[true,false],"re_named":"r"})");
  ASSERT_FALSE(read.error) << read.error->field << ' ' << read.error->detail;
  auto value = read.value;
  EXPECT_TRUE(value.getFlag());
  EXPECT_EQ(value.getI8(), -128);
  EXPECT_EQ(value.getI16(), -32768);
  EXPECT_EQ(value.getI32(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(value.getI64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(value.getU8(), 255);
  EXPECT_EQ(value.getU16(), 65535);
  EXPECT_EQ(value.getU32(), 4294967295U);
  EXPECT_EQ(value.getU64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(value.getRanged(), -5);
  EXPECT_EQ(value.getText(), "\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(value.getColour(), sample::Colour::BLUE2_GREEN);
  EXPECT_EQ(value.getWhen(), 1709164800001);
  EXPECT_EQ(value.getInner().getCount(), 7);
  ASSERT_EQ(value.getInners().size(), 2U);
  EXPECT_EQ(value.getInners()[1].getName(), "yy");
  EXPECT_EQ(value.getColours()[0], sample::Colour::DEEP_RED);
  EXPECT_EQ(value.getNumbers()[1], 10);
  EXPECT_EQ(value.getWords()[0], "abcd");
  EXPECT_TRUE(value.getFlags()[0]);
  EXPECT_EQ(value.getRenamed(), "r");
}

TEST(Reader, WhatIsAbsentKeepsTheSchemasDefault) {
  Read<schema::TerminalRun> read(R"({"workspace":"demo"})");
  ASSERT_FALSE(read.error);
  EXPECT_EQ(read.value.getCols(), 80);
  EXPECT_EQ(read.value.getTimeoutMs(), 0U);
  EXPECT_FALSE(read.value.hasCommand());
  EXPECT_FALSE(read.value.hasApproval());
  EXPECT_EQ(Read<Sample>("{}").value.getRanged(), 500);
}

TEST(Reader, AnEmptyBodyIsAnEmptyObject) {
  EXPECT_FALSE(Read<Sample>("").error);
  Read<schema::TerminalRun> read("");
  ASSERT_TRUE(read.error);
  EXPECT_EQ(read.error->field, "workspace");
}

TEST(Reader, LimitsAreReachedExactly) {
  EXPECT_FALSE(Read<Sample>(R"({"text":")" + std::string(256, 'x') + "\"}").error);
  EXPECT_TRUE(Read<Sample>(R"({"text":")" + std::string(257, 'x') + "\"}").error);
  EXPECT_FALSE(Read<Sample>(R"({"inner":{"name":"12345678"}})").error);
  EXPECT_TRUE(Read<Sample>(R"({"inner":{"name":"123456789"}})").error);
  EXPECT_TRUE(Read<Sample>(R"({"inner":{"name":"\u00e9\u00e9\u00e9\u00e9\u00e9"}})").error)
      << "limits are bytes";
  EXPECT_FALSE(Read<Sample>(R"({"numbers":[1,1,1,1]})").error);
  EXPECT_TRUE(Read<Sample>(R"({"numbers":[1,1,1,1,1]})").error);
}

TEST(Reader, PathAndQueryFillTheirFields) {
  Route route = routeOf<schema::ActionGet>();
  route.method = schema::Method::GET;
  PathParams params;
  params.push({"id", "act_0123456789012345678901234567"});
  Read<schema::ActionGet> read(route, "", "waitMs=60000&seenRevision=4", params);
  ASSERT_FALSE(read.error);
  EXPECT_EQ(read.value.getId(), "act_0123456789012345678901234567");
  EXPECT_EQ(read.value.getWaitMs(), 60000U);
  EXPECT_EQ(read.value.getSeenRevision(), 4U);
}

TEST(Reader, AnIdThatCanNotBeIsNotFound) {
  Route route = routeOf<schema::ById>();
  for (std::string_view id : {"x", "act_01234567890123456789012345678901234567890"}) {
    PathParams params;
    params.push({"id", id});
    Read<schema::ById> read(route, "", "", params);
    ASSERT_TRUE(read.error);
    EXPECT_EQ(read.error->code, schema::ProblemCode::NOT_FOUND);
    EXPECT_EQ(read.error->field, "id");
  }
}

TEST(Reader, OneReaderServesManyRequests) {
  RequestReader reader;
  std::string large = R"({"text":")" + std::string(400000, 'x') + "\"}";
  for (int round = 0; round < 3; ++round) {
    capnp::MallocMessageBuilder message;
    EXPECT_TRUE(reader.read(routeOf<Sample>(), bytes(large), {}, {}, message.initRoot<Sample>()));
    capnp::MallocMessageBuilder second;
    auto root = second.initRoot<Sample>();
    EXPECT_FALSE(reader.read(routeOf<Sample>(), bytes(R"({"u8":7})"), {}, {}, root));
    EXPECT_EQ(root.getU8(), 7);
    capnp::MallocMessageBuilder third;
    EXPECT_TRUE(reader.read(routeOf<Sample>(), bytes("{"), {}, {}, third.initRoot<Sample>()));
  }
}

TEST(ReaderTolerant, ForgivesWhatItDoesNotKnow) {
  Read<Loose> read(R"({"unknown":{"deep":[1,null,{"x":1.5}]},"cwd":"/x","text":"\u20ac\u20ac","count":"7",
    "words":["abcd","x","dropped"],"inside":{"text":5,"count":9,"more":1},"digest":"AA=="})");
  ASSERT_FALSE(read.error) << read.error->field << ' ' << read.error->detail;
  EXPECT_EQ(read.value.getText(), "\xE2\x82\xAC") << "cut at a character";
  EXPECT_EQ(read.value.getCount(), 0);
  ASSERT_EQ(read.value.getWords().size(), 2U);
  EXPECT_EQ(read.value.getWords()[0], "abc");
  EXPECT_FALSE(read.value.getInside().hasText());
  EXPECT_EQ(read.value.getInside().getCount(), 9);
}

TEST(ReaderTolerant, DropsNullsAndBrokenLimits) {
  Read<Loose> read(R"({"text":"a\u0000b","count":65536,"words":["a",1],"inside":null})");
  ASSERT_FALSE(read.error);
  EXPECT_FALSE(read.value.hasText());
  EXPECT_EQ(read.value.getCount(), 0);
  EXPECT_FALSE(read.value.hasWords());
  EXPECT_FALSE(read.value.hasInside());
}

TEST(ReaderTolerant, ReadsCutSurrogatesAndNumbersOfAnySize) {
  Read<Loose> read(R"({"text":"x\ud83d","big":123456789012345678901234567890,"huge":1e999,"count":1e5})");
  ASSERT_FALSE(read.error) << read.error->detail;
  EXPECT_EQ(read.value.getText(), "x\xEF\xBF\xBD");
  EXPECT_EQ(read.value.getCount(), 0);
}

TEST(ReaderTolerant, MalformedJsonAndRepeatedMembersStayErrors) {
  for (std::string_view body :
       {"{", "{]", R"({"a":1,})", R"({"text":"a","text":"a"})", R"({"text":"a","te\u0078t":"a"})",
        R"({"unknown":01})", R"({"unknown":"\x"})", "{} {}", "{}\xEF\xBB\xBF", "{\"a\":\"\xFF\"}",
        R"({"inside":{"count":1,"count":2}})", R"({"unknown":tru})", R"({"a":123456789012345678901x})"}) {
    Read<Loose> read(body);
    ASSERT_TRUE(read.error) << body;
    EXPECT_EQ(read.error->code, schema::ProblemCode::INVALID_JSON) << body;
  }
}

TEST(ReaderTolerant, DepthStaysBounded) {
  std::string body;
  for (int i = 0; i < 6; ++i) body += R"({"inside":)";
  std::string fits = body.substr(0, body.size() - 10) + R"({"count":1})" + std::string(5, '}');
  EXPECT_FALSE(Read<Loose>(fits).error);
  std::string tooDeep = body + R"({"count":1})" + std::string(6, '}');
  Read<Loose> read(tooDeep);
  ASSERT_TRUE(read.error);
  EXPECT_EQ(read.error->code, schema::ProblemCode::INVALID_REQUEST);
}

TEST(ReaderTolerant, TheDigestIsThatOfTheWholeBodyAsItCame) {
  std::string body = R"({ "text":"x\ud83d" })";
  Read<Loose> read(body);
  ASSERT_FALSE(read.error);
  std::array<unsigned char, 32> expected;
  crypto_generichash(expected.data(), expected.size(), bytes(body).begin(), body.size(), nullptr, 0);
  EXPECT_EQ(read.value.getDigest(), kj::arrayPtr(expected.data(), expected.size()));
  EXPECT_FALSE(read.value.getInside().hasDigest());
}

TEST(ReaderTolerant, HookEventsOfProvidersAreRead) {
  RouteTable table;
  Read<schema::HookEvent> read(
      *table.match("POST", "/event").route,
      R"({"session_id":"s-1","transcript_path":"/home/x","cwd":"/x","hook_event_name":"PreToolUse","tool_name":"Bash",
          "tool_input":{"command":"ls","nested":[[[[{}]]]]},"tool_use_id":"t1","payload":{"hook_event_name":"Inner"}})");
  ASSERT_FALSE(read.error);
  EXPECT_EQ(read.value.getHookEventName(), "PreToolUse");
  EXPECT_EQ(read.value.getSessionId(), "s-1");
  EXPECT_EQ(read.value.getPayload().getHookEventName(), "Inner");
  EXPECT_EQ(read.value.getContentDigest().size(), 32U);
}

}  // namespace
}  // namespace factionos::json
