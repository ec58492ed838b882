// A cone is read as git writes it, and anything else is not taken for one.
#include "workers/git/sparse_patterns.h"

#include <gtest/gtest.h>

namespace factionos::git {
namespace {

// As of `git sparse-checkout set --cone a/b 'odd[*]' c`.
constexpr const char* kCone = "/*\n!/*/\n/a/\n!/a/*/\n/c/\n/odd\\[\\*]/\n/a/b/\n";

TEST(SparsePatterns, AConeHoldsItsDirectoriesAndTheFilesOnTheWay) {
  const auto cone = Cone::of(kCone);
  ASSERT_TRUE(cone);
  for (const char* path :
       {"top", "a/file", "a/b/file", "a/b/deep/er/file", "c/file", "c/d/file", "odd[*]/file"})
    EXPECT_TRUE(cone->holds(path)) << path;
  for (const char* path : {"a/x/file", "a/bc/file", "b/file", "cc/file", "oddx/file", "x/a/b/file", "x/top"})
    EXPECT_FALSE(cone->holds(path)) << path;
  const auto topAlone = Cone::of("/*\n!/*/\n");
  ASSERT_TRUE(topAlone);
  EXPECT_TRUE(topAlone->holds("top"));
  EXPECT_FALSE(topAlone->holds("a/file"));
}

TEST(SparsePatterns, WhatIsNoConeIsNotTakenForOne) {
  const std::string head = "/*\n!/*/\n";
  for (const char* rest :
       {"/a", "/a/", "a/\n", "/a\n", "/a*/\n", "/a?/\n", "/[ab]/\n", "/a\\b/\n", "/a\\/\n", "//\n",
        "!/a/*/\n", "!/a/\n", "/a/\n!/a/b/\n", "/a/\n/a/\n", "# words\n", "\n", "*.txt\n"})
    EXPECT_FALSE(Cone::of(head + rest)) << rest;
  for (const char* text : {"", "/*\n", "/*", "!/*/\n/*\n", "/a/\n"}) EXPECT_FALSE(Cone::of(text)) << text;
}

}  // namespace
}  // namespace factionos::git
