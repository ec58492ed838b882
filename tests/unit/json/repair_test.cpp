#include "protocol/json/repair.h"

#include <string>

#include <gtest/gtest.h>

namespace factionos::json {
namespace {

std::string repaired(std::string text) {
  repairTolerated(kj::arrayPtr(text.data(), text.size()));
  return text;
}

TEST(Repair, LoneSurrogatesBecomeReplacementCharacters) {
  EXPECT_EQ(repaired(R"("\ud83d")"), R"("\uFFFD")");
  EXPECT_EQ(repaired(R"("\udE00x")"), R"("\uFFFDx")");
  EXPECT_EQ(repaired(R"("\ud83d\ud83d\ude00")"), R"("\uFFFD\ud83d\ude00")");
  EXPECT_EQ(repaired(R"("\ud83d\u0041")"), R"("\uFFFD\u0041")");
}

TEST(Repair, NumbersBeyondEveryTypeBecomeAFraction) {
  EXPECT_EQ(repaired("[123456789012345678901]"), "[0.0                  ]");
  EXPECT_EQ(repaired("{\"a\":-1e400,\"b\":1}"), "{\"a\":0.0   ,\"b\":1}");
  EXPECT_EQ(repaired("1e5"), "0.0");
}

TEST(Repair, EverythingElseStaysAsItIs) {
  for (const char* text : {R"("\ud83d\ude00")",
                           R"("\\ud83d")",
                           R"("\ud8)",
                           R"("\ud8`0")",
                           R"("\ud83g")",
                           R"("\)",
                           "\"",
                           "",
                           "[01]",
                           "-",
                           "-x",
                           "1.",
                           "1.e5",
                           "1e",
                           "1e+",
                           "00000000000000000000000",
                           "1234567890123456789012x",
                           "\"123456789012345678901234\"",
                           "123456789012345678",
                           "12345678901234567890.",
                           "1e5x"}) {
    EXPECT_EQ(repaired(text), text);
  }
}

}  // namespace
}  // namespace factionos::json
