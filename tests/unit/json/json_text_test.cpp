#include "protocol/json/json_text.h"

#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

namespace factionos::json {
namespace {

std::string jsonString(std::string_view value) {
  std::string out;
  appendJsonString(value, out);
  return out;
}

TEST(JsonString, ControlsAndLineSeparatorsAreEscaped) {
  EXPECT_EQ(jsonString("plain \xC3\xA9 \xE2\x82\xAC"), "\"plain \xC3\xA9 \xE2\x82\xAC\"");
  EXPECT_EQ(jsonString("\"\\/\b\f\n\r\t"), R"("\"\\/\b\f\n\r\t")");
  EXPECT_EQ(jsonString(std::string_view("\0\x1b\x1f\x7f", 4)), R"("\u0000\u001b\u001f\u007f")");
  EXPECT_EQ(jsonString("\xC2\x80\xC2\x9F\xC2\xA0"), "\"\\u0080\\u009f\xC2\xA0\"");
  EXPECT_EQ(jsonString("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA"), "\"\\u2028\\u2029\xE2\x80\xAA\"");
}

TEST(JsonString, EveryCodePointComesBack) {
  for (std::uint32_t point = 0; point < 0x110000; point += point < 0x3000 ? 1 : 97) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    std::string text;
    if (point < 0x80) {
      text = {static_cast<char>(point)};
    } else if (point < 0x800) {
      text = {static_cast<char>(0xC0U | (point >> 6)), static_cast<char>(0x80U | (point & 0x3F))};
    } else if (point < 0x10000) {
      text = {static_cast<char>(0xE0U | (point >> 12)), static_cast<char>(0x80U | ((point >> 6) & 0x3F)),
              static_cast<char>(0x80U | (point & 0x3F))};
    } else {
      text = {static_cast<char>(0xF0U | (point >> 18)), static_cast<char>(0x80U | ((point >> 12) & 0x3F)),
              static_cast<char>(0x80U | ((point >> 6) & 0x3F)), static_cast<char>(0x80U | (point & 0x3F))};
    }
    simdjson::dom::parser parser;
    simdjson::padded_string document(jsonString("<" + text + ">"));
    std::string_view back = parser.parse(document).get_string().value();
    ASSERT_EQ(back, "<" + text + ">") << point;
  }
}

TEST(JsonString, WhatIsNotUtf8BecomesReplacementCharacters) {
  EXPECT_EQ(jsonString("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(jsonString("\xC3"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(jsonString("\xED\xA0\x80\n"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\\n\"");
  EXPECT_EQ(jsonString("\xC3\xA9\xC3"), "\"\xC3\xA9\xEF\xBF\xBD\"");
}

TEST(JsonText, CommasFallWhereTheyBelong) {
  std::string out = "before,";
  JsonText json(out);
  json.beginObject();
  json.member("a", "{");
  json.key("b");
  json.beginArray();
  json.text("[");
  json.integer(-1);
  json.beginObject();
  json.endObject();
  json.unsignedInteger(2);
  json.boolean(false);
  json.endArray();
  json.key("c");
  json.raw("null");
  json.endObject();
  EXPECT_EQ(out, R"(before,{"a":"{","b":["[",-1,{},2,false],"c":null})");
}

TEST(JsonText, IndentingChangesNothingButSpace) {
  std::string compact = R"({"a":{"b":[1,"x, \"y\": {","\\"],"c":{},"d":[]},"e":true})";
  EXPECT_EQ(indented(compact), R"({
  "a": {
    "b": [
      1,
      "x, \"y\": {",
      "\\"
    ],
    "c": {},
    "d": []
  },
  "e": true
}
)");
}

}  // namespace
}  // namespace factionos::json
