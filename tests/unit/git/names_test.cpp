// Names that a request gives.
#include "workers/git/names.h"

#include <gtest/gtest.h>

#include "workers/git/refusal.h"
#include "workers/git/texts.h"

namespace factionos::git {
namespace {

template <typename Call>
bool refused(Call call) {
  try {
    call();
    return false;
  } catch (const Refusal&) {
    return true;
  }
}

TEST(GitNames, RefNames) {
  for (const char* name : {"main", "feature/x", "v1.2", "a-b", "\xc3\xa4", "HEAD"})
    EXPECT_FALSE(refused([&] { checkedRefName(name, "x"); })) << name;
  for (const char* name :
       {"",   "-f",   "a/-b", "a..b", "a@{0}", "@",  ".a", "a/.b", "a.lock", "a.lock/b", "a.",    "a/",
        "/a", "a//b", "a b",  "a~",   "a^",    "a:", "a?", "a*",   "a[",     "a\\",      "a\x7f", "a\n"})
    EXPECT_TRUE(refused([&] { checkedRefName(name, "x"); })) << name;
}

TEST(GitNames, Revisions) {
  const Revision revision = checkedRevision("main~3^2");
  EXPECT_EQ(revision.base, "main");
  EXPECT_EQ(revision.suffix, "~3^2");
  for (const char* text : {"a..b", "HEAD@{1}", ":/x", "HEAD:path", "HEAD^{tree}", "^main", "-1", "a^-1"})
    EXPECT_TRUE(refused([&] { checkedRevision(text); })) << text;
}

TEST(GitNames, Paths) {
  EXPECT_EQ(checkedPath("."), "");
  EXPECT_EQ(checkedPath("a/b/"), "a/b");
  EXPECT_EQ(checkedPath(".gitignore"), ".gitignore");
  EXPECT_EQ(checkedPath(".github/x"), ".github/x");
  for (const char* path :
       {"", "/a", "../a", "a/..", "a/./b", "a//b", ".git", ".GIT/x", "a/.git", ".git. /x", ".git:x"})
    EXPECT_TRUE(refused([&] { checkedPath(path); })) << path;
}

TEST(GitTexts, BytesBecomeCharacters) {
  bool same = false;
  EXPECT_EQ(utf8("plain \xc3\xa4 \xf0\x9f\x98\x80", &same), "plain \xc3\xa4 \xf0\x9f\x98\x80");
  EXPECT_TRUE(same);
  EXPECT_EQ(utf8("a\xff"
                 "b",
                 &same),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_FALSE(same);
  for (const char* broken : {"\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\x80"}) {
    utf8(broken, &same);
    EXPECT_FALSE(same);
  }
  EXPECT_EQ(utf8Cut("\xc3\xa4\xc3\xa4\xc3\xa4", 5), "\xc3\xa4\xc3\xa4");
}

}  // namespace
}  // namespace factionos::git
