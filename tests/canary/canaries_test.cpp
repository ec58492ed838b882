// What looks for canaries finds them, in whatever dress, and lets through what a place is there to show
// alone.
#include "tests/canary/canaries.h"

#include <algorithm>
#include <cctype>

#include <gtest/gtest.h>

namespace factionos::test {
namespace {

const Place kDetail{Boundary::kApiResponse, {Category::kTerminalOutput}};
const Place kAnswer{Boundary::kApiResponse, {}};

TEST(Canaries, EachIsFoundWhereItMayNotStand) {
  Canaries canaries;
  const auto command = canaries.plant(Category::kCommand, "a shell line");
  EXPECT_TRUE(canaries.misplaced("nothing to see", kAnswer).empty());
  EXPECT_EQ(canaries.misplaced("{\"a\":\"" + command + "\"}", kAnswer).size(), 1U);
  EXPECT_EQ(canaries.misplaced(command + command, kAnswer).size(), 2U);
  EXPECT_EQ(canaries.misplaced(std::string("\0bin", 4) + command, kAnswer).size(), 1U);
}

TEST(Canaries, APlaceMayHoldWhatTheMatrixAndThePlaceBothSay) {
  Canaries canaries;
  const auto output = canaries.plant(Category::kTerminalOutput, "output");
  const auto command = canaries.plant(Category::kCommand, "a shell line");
  EXPECT_TRUE(canaries.misplaced(output, kDetail).empty());
  EXPECT_FALSE(canaries.misplaced(output, kAnswer).empty()) << "another answer than the detail";
  EXPECT_FALSE(canaries.misplaced(command, kDetail).empty());
  EXPECT_FALSE(canaries.misplaced(command, {Boundary::kApiResponse, {Category::kCommand}}).empty())
      << "the matrix says never";
  EXPECT_TRUE(canaries.misplaced(command, {Boundary::kCli, {Category::kCommand}}).empty());
  EXPECT_FALSE(canaries.misplaced(output, {Boundary::kLog, {Category::kTerminalOutput}}).empty())
      << "a count is not the text";
}

// Output that is looked at while it comes ends anywhere.
TEST(Canaries, APieceIsFoundWhereTheWholeMayNotStand) {
  Canaries canaries;
  const auto output = canaries.plant(Category::kTerminalOutput, "output");
  const auto command = canaries.plant(Category::kCommand, "a shell line");
  EXPECT_TRUE(canaries.misplaced(output.substr(0, 29) + "\",", kDetail).empty());
  EXPECT_FALSE(canaries.misplaced(output.substr(0, 29), kAnswer).empty());
  EXPECT_FALSE(canaries.misplaced(command.substr(0, 20), kDetail).empty());
}

TEST(Canaries, DisguisesAreFoundEverywhere) {
  Canaries canaries;
  const auto value = canaries.plant(Category::kTerminalOutput, "output");
  auto capitals = value;
  std::ranges::transform(capitals, capitals.begin(),
                         [](char each) { return static_cast<char>(std::toupper(each)); });
  EXPECT_FALSE(canaries.misplaced(capitals, kDetail).empty());
  std::string hex;
  for (const char each : value) {
    hex += "0123456789abcdef"[(each >> 4) & 15];
    hex += "0123456789abcdef"[each & 15];
  }
  EXPECT_FALSE(canaries.misplaced(hex, kDetail).empty());
}

// An encoder of its own, so that a mistake in the finder's is not repeated here.
std::string base64(const std::string& text) {
  const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  unsigned held = 0;
  for (const char each : text) {
    bits = bits << 8U | static_cast<unsigned char>(each);
    for (held += 8; held >= 6; held -= 6) out += digits[bits >> (held - 6) & 63U];
  }
  return out;
}

TEST(Canaries, Base64IsFoundWhateverStandsBefore) {
  Canaries canaries;
  const auto value = canaries.plant(Category::kToken, "token");
  for (const char* before : {"", "a", "ab", "abc"})
    EXPECT_FALSE(canaries.misplaced(base64(before + value), kAnswer).empty()) << before;
}

TEST(Canaries, KnownValuesAreLookedForAsTheyAre) {
  Canaries canaries;
  canaries.know(Category::kBroadPath, "/srv/home", "home");
  EXPECT_EQ(canaries.misplaced("in /srv/home/run", kAnswer).size(), 1U);
  EXPECT_TRUE(canaries.misplaced("in /srv/home/run", {Boundary::kCli, {Category::kBroadPath}}).empty());
}

}  // namespace
}  // namespace factionos::test
