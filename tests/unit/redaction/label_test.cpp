#include "broker/redaction/label.h"

#include <string>

#include <gtest/gtest.h>

namespace factionos::redaction {
namespace {

TEST(Label, TakesNamesOfThings) {
  for (const char* text : {"demo", "src/main.cpp", ".claude/settings.json", "feature/add-x_1", "@scope/pkg",
                           "uid:1000", "c++", "a..b", "_x", "A", "v1.2.3"}) {
    EXPECT_TRUE(Label::parse(text)) << text;
  }
  EXPECT_TRUE(Label::parse(std::string(32, 'a') + "/" + std::string(32, 'b')));
}

TEST(Label, RefusesWhatCouldBeRaw) {
  for (const char* text :
       {"",     "a b", "rm -rf /", "/etc/passwd", "../x",     "a/../b", "a/..", "a//b", "dir/", "~/x", "-f",
        "a\nb", "a=b", "\"q\"",    "é",           "a\x1b[2J", "$HOME",  "a;b",  "a|b",  "x\\y", "{}"}) {
    EXPECT_FALSE(Label::parse(text)) << text;
  }
  EXPECT_FALSE(Label::parse(std::string_view("a\0b", 3)));
  EXPECT_FALSE(Label::parse(std::string(33, 'a'))) << "a run as long as a token's";
  EXPECT_FALSE(Label::parse("ghp_" + std::string(36, 'A')));
  std::string tooLong;
  while (tooLong.size() < 97) tooLong += "abc.";
  EXPECT_FALSE(Label::parse(tooLong.substr(0, 97)));
  EXPECT_TRUE(Label::parse(tooLong.substr(0, 96)));
}

TEST(Label, EveryByteIsJudged) {
  const std::string allowed = "._:@+-/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (int b = 0; b < 256; ++b) {
    const char c = static_cast<char>(b);
    EXPECT_EQ(Label::parse(std::string{'a', c, 'z'}).has_value(), allowed.find(c) != std::string::npos) << b;
  }
}

TEST(Label, NeverRepeatsTheTextItRefuses) {
  try {
    Label::of("s3cret value");
    FAIL();
  } catch (const InvalidLabel& error) {
    EXPECT_EQ(std::string(error.what()).find("s3cret"), std::string::npos);
  }
}

TEST(Code, IsAWordOfOurVocabulary) {
  EXPECT_TRUE(Code::parse("timed_out"));
  EXPECT_TRUE(Code::parse("worktree-add"));
  for (const char* text : {"", "Run", "1st", "_x", "a.b", "a/b", "a b", "-x"})
    EXPECT_FALSE(Code::parse(text)) << text;
  EXPECT_TRUE(Code::parse(std::string(48, 'a')));
  EXPECT_FALSE(Code::parse(std::string(49, 'a')));
}

}  // namespace
}  // namespace factionos::redaction
