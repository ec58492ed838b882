#include "workers/git/ignore_text.h"

#include <gtest/gtest.h>

namespace factionos::git {
namespace {

TEST(IgnoreText, ATabOrAFeedInThePlaceOfAPatternHasNoEnd) {
  for (const char* text :
       {"\v", "\f", "a\n\vb\n", "!\f", "/\v", "!/ \t\v", "a\n\r\v", "# a\n \f\n", "\xef\xbb\xbf\v"})
    EXPECT_TRUE(hasEndlessRule(text)) << text;
}

TEST(IgnoreText, OrdinaryRulesHaveOne) {
  for (const char* text :
       {"", "\n", "a", "*.o\n!keep.o\n/build/\n", "a\vb\n", "# \f\n", "\\\v\n", " \n\t\r\n", "a\r\n\r\nb"})
    EXPECT_FALSE(hasEndlessRule(text)) << text;
}

}  // namespace
}  // namespace factionos::git
