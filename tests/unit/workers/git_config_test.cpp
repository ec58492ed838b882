#include "workers/session/git_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace factionos::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> hooksPaths(std::string_view text) {
  return readGitConfig(text).hooksPaths;
}

TEST(GitConfig, FindsHooksPathInItsForms) {
  EXPECT_THAT(hooksPaths("[core]\n\thooksPath = .githooks\n"), ElementsAre(".githooks"));
  EXPECT_THAT(hooksPaths("[CORE] HOOKSPATH=a ; why\n"), ElementsAre("a"));
  EXPECT_THAT(hooksPaths("[ core ]\nhookspath = \"with space ; and #\"  # comment\n"),
              ElementsAre("with space ; and #"));
  EXPECT_THAT(hooksPaths("[core]\nhooksPath = a\\\nb\n"), ElementsAre("ab"));
  EXPECT_THAT(hooksPaths("[core]\nhooksPath = \\\"q\\\\\n"), ElementsAre("\"q\\"));
  EXPECT_THAT(hooksPaths("[core]\r\nhooksPath = .githooks\r\n"), ElementsAre(".githooks"));
  EXPECT_THAT(hooksPaths("[core]\nhooksPath = a\n[user]\nname = x\n[core]\nhooksPath = b"),
              ElementsAre("a", "b"));
}

TEST(GitConfig, AByteOrderMarkHidesNothing) {
  EXPECT_THAT(hooksPaths("\xef\xbb\xbf[core]\nhooksPath = a\n"), ElementsAre("a"));
}

TEST(GitConfig, FindsWhatIsIncludedWhateverTheCondition) {
  EXPECT_THAT(
      readGitConfig("[include]\npath = a\n[Include] PATH=b\n[includeIf \"gitdir:x]\\\"y\"]\npath = c\n"
                    "[include \"x\"]\npath = d\n[includeIf]\npath = e\n")
          .includes,
      ElementsAre("a", "b", "c"));
  EXPECT_THAT(readGitConfig("[core]\n worktree = ../../../lib\n").workTrees, ElementsAre("../../../lib"));
}

TEST(GitConfig, LooksNowhereElse) {
  EXPECT_THAT(hooksPaths("[core \"sub\"]\nhooksPath = a\n"), IsEmpty());
  EXPECT_THAT(hooksPaths("[user]\nhooksPath = a\n# [core]\n"), IsEmpty());
  EXPECT_THAT(hooksPaths("[core]\n; hooksPath = a\nhooksPathX = b\nhooksPath\nhooksPath =\n"), IsEmpty());
}

TEST(GitConfig, AnyTextEnds) {
  for (const char* text :
       {"[", "[core", "[core]x", "[core]hooksPath=\"", "[core]hooksPath=\\", "[core]\nhooksPath = \"a\nb\"",
        "]]][[[===", "[a \"", "[a \"\\", "[a \"b\"", "\xef\xbb"}) {
    readGitConfig(text);
  }
}

}  // namespace
}  // namespace factionos::session
