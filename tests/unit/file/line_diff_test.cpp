#include "workers/file/line_diff.h"

#include <random>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

namespace factionos::file {
namespace {

using Lines = std::vector<std::string>;

Lines linesOf(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Applies a unified diff, strictly: every line of context must be where the hunk says.
std::string patched(const std::string& before, const std::string& diff) {
  const Lines lines = linesOf(before);
  std::string result;
  std::size_t at = 0;
  for (const std::string& line : linesOf(diff)) {
    if (line.starts_with("@@")) {
      std::size_t first = 0, count = 0;
      EXPECT_EQ(std::sscanf(line.c_str(), "@@ -%zu,%zu", &first, &count), 2);
      const std::size_t start = count == 0 ? first : first - 1;
      while (at < start) result += lines.at(at++) + "\n";
      continue;
    }
    if (line.starts_with("\\")) {
      result.pop_back();
      continue;
    }
    if (line[0] != '+') {
      EXPECT_EQ(lines.at(at++), line.substr(1));
    }
    if (line[0] != '-') result += line.substr(1) + "\n";
  }
  while (at < lines.size()) result += lines[at++] + "\n";
  return result;
}

std::size_t longestCommon(const Lines& a, const Lines& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j)
      table[i + 1][j + 1] = a[i] == b[j] ? table[i][j] + 1 : std::max(table[i][j + 1], table[i + 1][j]);
  }
  return table[a.size()][b.size()];
}

TEST(LineDiff, IsAShortestScriptThatMakesTheOneOfTheOther) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const auto text = [&]() {
      std::string result;
      const std::size_t lines = random() % 12;
      for (std::size_t i = 0; i < lines; ++i)
        result += std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
      return result;
    };
    const std::string before = text();
    const std::string after = text();
    const LineDiff diff = diffLines(before, after, 1 << 20);
    ASSERT_EQ(patched(before, diff.text), after) << before << "--\n" << after << "--\n" << diff.text;
    const std::size_t common = longestCommon(linesOf(before), linesOf(after));
    ASSERT_EQ(diff.deletions, linesOf(before).size() - common);
    ASSERT_EQ(diff.insertions, linesOf(after).size() - common);
  }
}

TEST(LineDiff, ManyEditsAreBoundedAndStillRight) {
  std::string before, after;
  for (int i = 0; i < 5000; ++i) {
    before += "b" + std::to_string(i) + "\n";
    after += "a" + std::to_string(i) + "\n";
  }
  const LineDiff diff = diffLines(before, after, 1 << 20);
  EXPECT_EQ(diff.deletions, 5000U);
  EXPECT_EQ(diff.insertions, 5000U);
  EXPECT_EQ(diff.hunks, 1U);
  EXPECT_EQ(patched(before, diff.text), after);
}

TEST(LineDiff, TextIsBoundedAndTellsWhatWasDropped) {
  const LineDiff diff = diffLines("", std::string(1000, 'x') + "\n", 100);
  EXPECT_EQ(diff.text.size(), 100U);
  EXPECT_GT(diff.droppedBytes, 900U);
  EXPECT_EQ(diff.insertions, 1U);
}

TEST(LineDiff, NothingIsSaidOfBinaries) {
  const LineDiff diff = diffLines(std::string("a\0b", 3), "text\n", 100);
  EXPECT_TRUE(diff.binary);
  EXPECT_TRUE(diff.text.empty());
  EXPECT_EQ(diff.hunks, 0U);
}

TEST(LineDiff, AMissingLastLineFeedIsAChange) {
  const LineDiff diff = diffLines("a\nb", "a\nb\n", 1000);
  EXPECT_EQ(diff.insertions, 1U);
  EXPECT_EQ(diff.deletions, 1U);
  EXPECT_NE(diff.text.find("\\ No newline"), std::string::npos);
}

}  // namespace
}  // namespace factionos::file
