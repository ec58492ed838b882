#include "broker/redaction/label.h"

#include <string>

#include <gtest/gtest.h>

namespace factionos::redaction {
namespace {

TEST(Label, TakesTheGrammarAndNothingElse) {
  for (const std::string_view good : {"a", "main", "v1.2.3", "make test", "user@host:22", "a_b-c+d", "0"}) {
    ASSERT_TRUE(Label::parse(good)) << good;
    EXPECT_EQ(Label::parse(good)->text(), good);
  }
  EXPECT_TRUE(Label::parse(std::string(64, 'a')));
  for (const std::string_view bad : {"", " a", "a ", "-rf", ".git", "a/b", "../x", "a\nb", "a\"b", "<b>",
                                     "a\\b", "é", "a;b", "$(x)", "a\x1b[m", "a=b", "a,b", "{a}"}) {
    EXPECT_FALSE(Label::parse(bad)) << bad;
  }
  EXPECT_FALSE(Label::parse(std::string(65, 'a')));
  EXPECT_FALSE(Label::parse(std::string_view("a\0b", 3)));
}

TEST(Label, EveryByteIsJudged) {
  const std::string allowed = " ._:@+-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (int b = 0; b < 256; ++b) {
    const char c = static_cast<char>(b);
    EXPECT_EQ(Label::parse(std::string{'a', c, 'z'}).has_value(), allowed.find(c) != std::string::npos) << b;
  }
}

}  // namespace
}  // namespace factionos::redaction
