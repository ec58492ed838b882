#include "protocol/json/scalars.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "protocol/json/names.h"

namespace factionos::json {
namespace {

std::string timeText(std::int64_t milliseconds) {
  std::string out;
  JsonText json(out);
  writeTime(milliseconds, json);
  return out.substr(1, out.size() - 2);
}

TEST(Names, SnakeCaseIsTheOnlyForm) {
  EXPECT_EQ(snakeCase("timedOut"), "timed_out");
  EXPECT_EQ(snakeCase("nonExecuting"), "non_executing");
  EXPECT_EQ(snakeCase("usr1"), "usr1");
  EXPECT_EQ(snakeCase("kill"), "kill");
}

TEST(Time, GoesBothWays) {
  EXPECT_EQ(timeText(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(timeText(951782399999), "2000-02-28T23:59:59.999Z");
  for (std::int64_t value :
       {1LL, -1LL, 951782400000LL, 1709208000123LL, 253402300799999LL, -62135596800000LL}) {
    EXPECT_EQ(parseTime(timeText(value)), value) << timeText(value);
  }
}

TEST(Time, WhatHasNoNameIsTheNearestThatHas) {
  EXPECT_EQ(timeText(std::numeric_limits<std::int64_t>::max()), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(timeText(std::numeric_limits<std::int64_t>::min()), "0001-01-01T00:00:00.000Z");
}

TEST(Time, OffsetsAndFractionsAreRead) {
  EXPECT_EQ(parseTime("1970-01-01T01:00:00+01:00"), 0);
  EXPECT_EQ(parseTime("1969-12-31T23:30:00.5-00:30"), 500);
  EXPECT_EQ(parseTime("1970-01-01T00:00:00.123999999Z"), 123);
}

TEST(Time, OtherTextsAreNoTimes) {
  for (std::string_view text : {"",
                                "1970-01-01",
                                "1970-01-01T00:00:00",
                                "1970-01-01 00:00:00Z",
                                "1970-01-01t00:00:00z",
                                "1970-1-01T00:00:00Z",
                                "1970-02-30T00:00:00Z",
                                "2023-02-29T00:00:00Z",
                                "1970-13-01T00:00:00Z",
                                "1970-01-01T24:00:00Z",
                                "1970-01-01T00:60:00Z",
                                "1970-01-01T00:00:60Z",
                                "1970-01-01T00:00:00.Z",
                                "1970-01-01T00:00:00.0123456789Z",
                                "1970-01-01T00:00:00+0100",
                                "1970-01-01T00:00:00+24:00",
                                "1970-01-01T00:00:00Z ",
                                "0000-01-01T00:00:00Z",
                                "-970-01-01T00:00:00Z",
                                "0001-01-01T00:00:00+01:00",
                                "9999-12-31T23:59:59-01:00"}) {
    EXPECT_EQ(parseTime(text), std::nullopt) << text;
  }
}

TEST(Integers, AreExactOrNothing) {
  EXPECT_EQ(parseUnsigned("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parseUnsigned("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parseSigned("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parseSigned("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parseUnsigned("0"), 0U);
  for (std::string_view text : {"", "-", "+1", "01", "-0", "1 ", " 1", "1e3", "1.0", "0x1", "--1"}) {
    EXPECT_EQ(parseSigned(text), std::nullopt) << text;
    EXPECT_EQ(parseUnsigned(text), std::nullopt) << text;
  }
  EXPECT_EQ(parseUnsigned("-1"), std::nullopt);
}

TEST(Cut, NeverSplitsACharacter) {
  std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
  for (std::size_t max = 0; max <= text.size() + 1; ++max) {
    std::string_view cut = cutAtCharacter(text, max);
    EXPECT_LE(cut.size(), max);
    EXPECT_TRUE(cut.size() == text.size() || (static_cast<unsigned char>(text[cut.size()]) & 0xC0U) != 0x80)
        << max;
    EXPECT_GE(cut.size() + 3, std::min(max, text.size()));
  }
}

}  // namespace
}  // namespace factionos::json
