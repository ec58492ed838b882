// A change set as it is kept in a snapshot.
#include "workers/git/change_set.h"

#include <gtest/gtest.h>

namespace factionos::git {
namespace {

git_oid oid(const char* hex) {
  git_oid id;
  git_oid_fromstr(&id, hex);
  return id;
}

TEST(GitChangeSet, ComesBackAsItWas) {
  const git_oid a = oid("0123456789012345678901234567890123456789");
  const git_oid b = oid("abcdefabcdefabcdefabcdefabcdefabcdefabcd");
  ChangeSet set;
  set.operation = "checkout";
  set.files.push_back({"with blank\n\xff%-", {0100644, a}, {}});
  set.index.push_back({"-", {}, {}});
  set.index.back().before.stages[2] = {0100755, b};
  set.index.push_back({"new", {}, {}});
  set.index.back().before.stages[0] = {0100644, a};
  set.index.back().before.intended = true;
  set.index.back().after.stages[0] = {0100644, a};
  set.refs.push_back({"HEAD", "ref: refs/heads/main", "ref: refs/heads/topic"});
  set.refs.push_back({"refs/heads/new", "", "abcdefabcdefabcdefabcdefabcdefabcdefabcd"});
  set.worktree = {WorktreeEdit::What::kRemove, "side", "trees/side", "ref: refs/heads/side"};
  set.push = {"origin", "refs/heads/main", "", "abcdefabcdefabcdefabcdefabcdefabcdefabcd"};
  const std::string text = encode(set);
  const auto back = decode(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), text);
  EXPECT_EQ(back->files[0].path, set.files[0].path);
  EXPECT_EQ(back->index[0].path, "-");
  EXPECT_TRUE(back->index[0].before == set.index[0].before);
  EXPECT_TRUE(back->index[1].before.intended);
  EXPECT_FALSE(back->index[1].after.intended);
  EXPECT_FALSE(back->index[1].before == back->index[1].after);
  EXPECT_EQ(back->refs[1].before, "");
  EXPECT_EQ(back->push->remote, "origin");
  EXPECT_EQ(encode(inverse(inverse(set, "x"), "checkout")), text);
}

TEST(GitChangeSet, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "x\n", "factionos change 1 stage", "factionos change 1 stage\nref a\n",
        "factionos change 1 stage\nfile a 1:x -\n", "factionos change 1 stage\nindex a - -\n",
        "factionos change 1 stage\nref %1 a b\n", "factionos change 1 stage\nindex a N- - - - - - - -\n",
        "factionos change 1 stage\nindex a - N33188:0123456789012345678901234567890123456789 - - - - - -\n",
        // And what no caller could name.
        "factionos change 1 x\nfile .git/hooks/x 33188:0123456789012345678901234567890123456789 -\n",
        "factionos change 1 x\nfile ../x 33188:0123456789012345678901234567890123456789 -\n",
        "factionos change 1 x\nfile /x 33188:0123456789012345678901234567890123456789 -\n",
        "factionos change 1 x\nfile x 35309:0123456789012345678901234567890123456789 -\n",
        "factionos change 1 x\nindex .git - - - - - - - -\n",
        "factionos change 1 x\nref refs/heads/../x - 0123456789012345678901234567890123456789\n",
        "factionos change 1 x\nref config - 0123456789012345678901234567890123456789\n",
        "factionos change 1 x\nref HEAD - ref%3A%20config\n",
        "factionos change 1 x\nworktree keep a b ref%3A%20refs/heads/x\n",
        "factionos change 1 x\nworktree remove a .git/hooks ref%3A%20refs/heads/x\n",
        "factionos change 1 x\nworktree remove ../a b ref%3A%20refs/heads/x\n"})
    EXPECT_FALSE(decode(text)) << text;
}

}  // namespace
}  // namespace factionos::git
