#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/schemas/api.capnp.h"
#include "tests/unit/json/fixture.h"
#include "tests/unit/json/sample.capnp.h"

namespace factionos::json {
namespace {

using sample::Sample;
using schema::ProblemCode;

struct Row {
  std::string body;
  std::string_view field;
};

void expectAll(const std::vector<Row>& rows, ProblemCode code) {
  for (const Row& row : rows) {
    Read<Sample> read(row.body);
    EXPECT_TRUE(read.error) << row.body;
    if (!read.error) continue;
    EXPECT_EQ(read.error->code, code) << row.body;
    EXPECT_EQ(read.error->field, row.field) << row.body;
    EXPECT_FALSE(read.error->detail.empty()) << row.body;
    EXPECT_EQ(read.error->detail.find("canary"), std::string::npos) << row.body;
  }
}

TEST(ReaderErrors, MalformedJsonIsInvalidJson) {
  std::vector<Row> rows;
  for (const char* body : {" ",
                           "{",
                           "}",
                           "[",
                           "{}}",
                           "{} {}",
                           "{}x",
                           "{},",
                           "{'a':1}",
                           "{a:1}",
                           "{\"u8\":1,}",
                           "{,\"u8\":1}",
                           "{\"u8\" 1}",
                           "{\"u8\":}",
                           "{\"u8\":1 \"u16\":1}",
                           "{\"u8\":01}",
                           "{\"u8\":+1}",
                           "{\"u8\":.5}",
                           "{\"u8\":1.}",
                           "{\"u8\":1e}",
                           "{\"u8\":0x1}",
                           "{\"u8\":NaN}",
                           "{\"u8\":Infinity}",
                           "{\"u8\":-}",
                           "{\"flag\":True}",
                           "{\"flag\":tru}",
                           "{\"flag\":nul}",
                           "{\"text\":\"a}",
                           "{\"text\":\"\\x\"}",
                           "{\"text\":\"\\u12\"}",
                           "{\"text\":\"\\u12g4\"}",
                           "{\"text\":\"a\nb\"}",
                           "{\"text\":\"a\tb\"}",
                           "{\"flags\":[true,]}",
                           "{\"flags\":[,true]}",
                           "{\"flags\":[true true]}",
                           "{/*c*/}",
                           "{} //c",
                           "\xEF\xBB\xBF{}",
                           "{}\xEF\xBB\xBF",
                           "{\"u64\":18446744073709551616}",
                           "{\"u8\":1e999}"}) {
    rows.push_back({body, ""});
  }
  rows.push_back({std::string("{}\0", 3), ""});
  rows.push_back({std::string("{\0}", 3), ""});
  rows.push_back({std::string("\0", 1), ""});
  expectAll(rows, ProblemCode::INVALID_JSON);
}

TEST(ReaderErrors, LoneSurrogatesAreInvalidJson) {
  expectAll({{R"({"text":"\ud83d"})", ""},
             {R"({"text":"\ude00"})", ""},
             {R"({"text":"\ud83dx"})", ""},
             {R"({"text":"\ud83d\ud83d"})", ""},
             {R"({"text":"\ud83d\u0041"})", ""},
             {R"({"\ud83d":1})", ""}},
            ProblemCode::INVALID_JSON);
}

TEST(ReaderErrors, WhatIsNotUtf8IsInvalidJson) {
  std::vector<Row> rows;
  for (const char* text : {"\xFF", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                           "\x80", "\xF0\x9F\x98"}) {
    rows.push_back({std::string("{\"text\":\"") + text + "\"}", ""});
    rows.push_back({std::string("{\"") + text + "\":1}", ""});
  }
  expectAll(rows, ProblemCode::INVALID_JSON);
}

TEST(ReaderErrors, ARepeatedMemberIsInvalidJsonAndNamed) {
  expectAll({{R"({"u8":1,"u8":1})", "u8"},
             {R"({"u8":1,"\u00758":1})", "u8"},
             {R"({"inner":{"name":"ab","name":"ab"}})", "inner.name"},
             {R"({"inners":[{"name":"ab","count":1,"count":1}]})", "inners[].count"}},
            ProblemCode::INVALID_JSON);
}

TEST(ReaderErrors, AnotherRootThanAnObjectIsInvalidRequest) {
  expectAll({{"[]", ""}, {"[{}]", ""}, {"1", ""}, {"\"{}\"", ""}, {"null", ""}, {"true", ""}},
            ProblemCode::INVALID_REQUEST);
}

TEST(ReaderErrors, AnUnknownMemberNamesOnlyWhatEnclosesIt) {
  expectAll({{R"({"canary":1})", ""},
             {R"({"":1})", ""},
             {R"({"Flag":true})", ""},
             {R"({"hidden":"internal"})", ""},
             {R"({"renamed":"has another name"})", ""},
             {R"({"inner":{"name":"ab","canary":1}})", "inner"},
             {R"({"inners":[{"name":"ab"},{"canary":1}]})", "inners[]"}},
            ProblemCode::INVALID_REQUEST);
}

TEST(ReaderErrors, ABlockedFieldIsNamed) {
  expectAll({{R"({"cwd":"canary"})", "cwd"},
             {R"({"dangerouslyDisableSandbox":true})", "dangerouslyDisableSandbox"},
             {R"({"c\u0077d":"canary"})", "cwd"},
             {R"({"inner":{"token":1}})", "inner.token"},
             {R"({"inners":[{"env":{}}]})", "inners[].env"},
             {R"({"canary":{"canary":[{"env":1}]}})", "env"}},
            ProblemCode::BLOCKED_FIELD);
  for (auto name : *schema::BLOCKED_FIELDS) {
    Read<schema::Nothing> read("{\"" + std::string(name.cStr()) + "\":null}");
    ASSERT_TRUE(read.error);
    EXPECT_EQ(read.error->code, ProblemCode::BLOCKED_FIELD) << name.cStr();
    EXPECT_EQ(read.error->field, name.cStr());
  }
}

TEST(ReaderErrors, AWrongTypeIsNamed) {
  for (std::string_view value : {"null", "\"1\"", "1.0", "1e0", "true", "[]", "{}", "[1]"}) {
    for (const char* field : {"i8", "i64", "u8", "u64", "ranged"}) {
      expectAll({{"{\"" + std::string(field) + "\":" + std::string(value) + "}", field}},
                ProblemCode::INVALID_REQUEST);
    }
  }
  expectAll({{R"({"flag":1})", "flag"},
             {R"({"flag":"true"})", "flag"},
             {R"({"flag":null})", "flag"},
             {R"({"text":1})", "text"},
             {R"({"text":null})", "text"},
             {R"({"text":["a"]})", "text"},
             {R"({"colour":1})", "colour"},
             {R"({"when":0})", "when"},
             {R"({"inner":[]})", "inner"},
             {R"({"inner":null})", "inner"},
             {R"({"inner":"ab"})", "inner"},
             {R"({"inners":{}})", "inners"},
             {R"({"inners":[1]})", "inners[]"},
             {R"({"numbers":5})", "numbers"},
             {R"({"numbers":[1,"2"]})", "numbers[]"},
             {R"({"numbers":[null]})", "numbers[]"},
             {R"({"words":[["a"]]})", "words[]"},
             {R"({"colours":[3]})", "colours[]"},
             {R"({"flags":[0]})", "flags[]"},
             {R"({"nothing":null})", "nothing"},
             {R"({"named":{"idle":true}})", "named.idle"}},
            ProblemCode::INVALID_REQUEST);
}

TEST(ReaderErrors, ABrokenLimitIsNamed) {
  expectAll({{R"({"i8":128})", "i8"},
             {R"({"i8":-129})", "i8"},
             {R"({"i64":9223372036854775808})", "i64"},
             {R"({"u8":256})", "u8"},
             {R"({"u8":-1})", "u8"},
             {R"({"u64":-1})", "u64"},
             {R"({"u32":4294967296})", "u32"},
             {R"({"ranged":6})", "ranged"},
             {R"({"ranged":-6})", "ranged"},
             {R"({"ranged":500})", "ranged"},
             {R"({"numbers":[0]})", "numbers[]"},
             {R"({"numbers":[11]})", "numbers[]"},
             {R"({"numbers":[1,1,1,1,1]})", "numbers"},
             {R"({"words":["12345"]})", "words[]"},
             {R"({"words":["a","b","c"]})", "words"},
             {R"({"inners":[{"name":"a"}]})", "inners[].name"},
             {R"({"inner":{"name":"a"}})", "inner.name"},
             {R"({"text":"a\u0000b"})", "text"},
             {R"({"words":["\u0000"]})", "words[]"},
             {R"({"when":"yesterday"})", "when"},
             {R"({"colour":"unspecified"})", "colour"},
             {R"({"colour":""})", "colour"},
             {R"({"colour":"deepRed"})", "colour"},
             {R"({"colour":"canary"})", "colour"},
             {R"({"colours":["unspecified"]})", "colours[]"}},
            ProblemCode::INVALID_REQUEST);
}

TEST(ReaderErrors, ARequiredMemberIsMissed) {
  expectAll({{R"({"inner":{}})", "inner.name"},
             {R"({"inner":{"count":1}})", "inner.name"},
             {R"({"inners":[{"name":"ab"},{}]})", "inners[].name"}},
            ProblemCode::INVALID_REQUEST);
  Read<schema::TerminalRun> read(
      R"({"workspace":"demo","approval":{"actionId":"act_0123456789012345678901234567"}})");
  ASSERT_TRUE(read.error);
  EXPECT_EQ(read.error->field, "approval.expectedRevision");
}

TEST(ReaderErrors, DepthIsBoundedWhereverItIs) {
  // Six levels are allowed.
  expectAll({{R"({"flags":[[[[[[0]]]]]]})", ""}, {R"({"canary":{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}})", ""}},
            ProblemCode::INVALID_REQUEST);
  Read<Sample> deep(std::string(100000, '[') + std::string(100000, ']'));
  ASSERT_TRUE(deep.error);
  EXPECT_EQ(deep.error->code, ProblemCode::INVALID_REQUEST);
  EXPECT_EQ(Read<Sample>(R"({"flags":[[[[[0]]]]]})").error->field, "flags[]") << "the sixth level is read";
}

TEST(ReaderErrors, ABodyAboveTheRoutesLimitIsTooLarge) {
  Route route = routeOf<Sample>();
  route.maxBodyBytes = 10;
  EXPECT_FALSE(Read<Sample>(route, R"({"u8":123})").error);
  Read<Sample> read(route, R"({"u8":123} )");
  ASSERT_TRUE(read.error);
  EXPECT_EQ(read.error->code, ProblemCode::TOO_LARGE);
}

TEST(ReaderErrors, AGetTakesNoBody) {
  Route route = routeOf<Sample>();
  route.method = schema::Method::GET;
  EXPECT_FALSE(Read<Sample>(route, "").error);
  EXPECT_TRUE(Read<Sample>(route, "{}").error);
}

TEST(ReaderErrors, PathFieldsAreNoBodyMembers) {
  Route route = routeOf<schema::SessionInput>();
  PathParams params;
  params.push({"id", "ses_0123456789012345678901234567"});
  EXPECT_FALSE(Read<schema::SessionInput>(route, R"({"data":"x"})", "", params).error);
  Read<schema::SessionInput> read(route, R"({"id":"ses_0123456789012345678901234567","data":"x"})", "",
                                  params);
  ASSERT_TRUE(read.error);
  EXPECT_EQ(read.error->code, ProblemCode::INVALID_REQUEST);
  EXPECT_EQ(read.error->field, "");
}

}  // namespace
}  // namespace factionos::json
