#include "workers/file/kept.h"

#include <sys/stat.h>

#include "tests/unit/file/workspace.h"

namespace factionos::file::test {
namespace {

KeptRecord recordOf(int number) {
  return {.action = actionId(number),
          .operation = "write",
          .path = "a/b\n\xff",
          .temporary = newTemporary(),
          .before = shaOf("before"),
          .after = std::nullopt,
          .inode = 5,
          .size = 6,
          .mode = 0640,
          .keptMs = 1234};
}

TEST(KeptRecord, ReadsBackWhatItWrote) {
  const auto record = decode(encode(recordOf(1)));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->action, actionId(1));
  EXPECT_EQ(record->path, "a/b\n\xff");
  EXPECT_EQ(record->before, shaOf("before"));
  EXPECT_FALSE(record->after);
  EXPECT_EQ(record->mode, 0640U);
}

TEST(KeptRecord, WhatNobodyOfOursWroteIsNone) {
  const std::string good = encode(recordOf(1));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return decode(text);
  };
  EXPECT_FALSE(decode(""));
  EXPECT_FALSE(decode(std::string(100'000, 'x')));
  EXPECT_FALSE(with("factionos-kept 2", "factionos-kept 1"));
  EXPECT_FALSE(with("path ", "path 2e2e2f"));  // "../"
  EXPECT_FALSE(with("path ", "path zz"));
  EXPECT_FALSE(with("mode 416", "mode 2541"));  // set-user-id
  EXPECT_FALSE(with("size 6", "size -6"));
  EXPECT_FALSE(with("action act_", "action ../_"));
  EXPECT_FALSE(with("before ", "before 00"));
  EXPECT_FALSE(with("operation write", "operation x y"));
  EXPECT_FALSE(with("operation write", "operation ghp_a"));
  EXPECT_FALSE(with("temporary .factionos-", "temporary ../factionos-"));
  EXPECT_FALSE(with("temporary .factionos-", "temporary "));
  EXPECT_FALSE(with("kept 1234", "kept -1"));
  EXPECT_FALSE(with("kept 1234", "kept 9223372036854775807"));
  EXPECT_FALSE(with("size 6", "size 18446744073709551615"));
}

TEST(KeptRecord, AnActionIsNamedAsTheBrokerNamesThem) {
  EXPECT_TRUE(isAction("act_01M8PCVB0RJWZWW4ATBXYZRXHG"));
  for (const char* other : {"act_zzzzzzzzzzzzzzzzzzzzzzzz", "act_8ZM8PCVB0RJWZWW4ATBXYZRXHG",
                            "act_01M8PCVB0RJWZWW4ATBXYZRXH", "act_01M8PCVB0RJWZWW4ATBXYZRXHI", "act_", ""})
    EXPECT_FALSE(isAction(other)) << other;
}

TEST(Kept, WhatIsNoRecordOfOursIsSkippedAndCounted) {
  Workspace work;
  Changer changer(work.fd());
  ASSERT_EQ(make(changer, write("f", "x"), 1), "");
  const std::string kept = work.path(".factionos/kept/");
  Workspace::put(kept + "act_zzzzzzzzzzzzzzzzzzzzzzzz/record", "planted");
  Workspace::put(kept + "act_7ZM8PCVB0RJWZWW4ATBXYZRXHG/record", "planted");
  Workspace::put(kept + "notes", "planted");
  const auto found = changer.kept().list("", "", 10);
  ASSERT_EQ(found.records.size(), 1U);
  EXPECT_EQ(found.records.front().action, actionId(1));
  EXPECT_EQ(found.skipped, 3U);
  EXPECT_EQ(make(changer, write("f", "y"), 2), "") << "nor is it in the way";
}

TEST(Kept, LiesInAFolderThatGitLeavesAlone) {
  Workspace work;
  Kept kept(work.fd());
  EXPECT_FALSE(kept.begin(recordOf(1)));
  EXPECT_EQ(Workspace::get(work.path(".factionos/.gitignore")), "*\n");
  struct stat status {};
  ASSERT_EQ(stat(work.path(".factionos").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_EQ(kept.begin(recordOf(1))->code, "applied_before");
}

TEST(Kept, ALinkInPlaceOfItsFolderIsRefused) {
  Workspace work;
  std::filesystem::create_directory_symlink(work.outside(), work.path(".factionos"));
  Changer changer(work.fd());
  EXPECT_NE(make(changer, write("f", "x"), 1), "");
  EXPECT_FALSE(std::filesystem::exists(work.path("f")));
  EXPECT_TRUE(std::filesystem::is_empty(work.outside()));
}

TEST(Kept, IsBoundedInNumberSizeAndAge) {
  Workspace work;
  Workspace::put(work.path("f"), "0");
  const KeptBounds bounds{.entries = 5, .bytes = 250, .ageMs = 1000};
  Changer changer(work.fd(), bounds);
  for (int i = 1; i <= 8; ++i) ASSERT_EQ(make(changer, write("f", std::to_string(i)), i), "");
  const auto all = changer.kept().list("", "", 100).records;
  EXPECT_EQ(all.size(), 5U);
  EXPECT_EQ(all.front().action, actionId(8));
  for (int i = 9; i <= 12; ++i)
    ASSERT_EQ(make(changer, write("f", std::string(100, static_cast<char>(i))), i), "");
  EXPECT_LE(changer.kept().totalBytes(), 250U);
  Kept kept(work.fd(), bounds);
  kept.trim(actionId(12), all.front().keptMs + 60'000);
  EXPECT_EQ(kept.list("", "", 10).records.size(), 1U) << "the present one stays";
}

TEST(Kept, IsListedNewestFirstByPathAndPage) {
  Workspace work;
  Changer changer(work.fd());
  for (int i = 1; i <= 6; ++i)
    ASSERT_EQ(make(changer, write(i % 2 == 0 ? "even" : "odd", std::to_string(i)), i), "");
  const auto even = changer.kept().list("even", "", 10).records;
  ASSERT_EQ(even.size(), 3U);
  EXPECT_EQ(even[0].action, actionId(6));
  EXPECT_FALSE(even[2].before) << "there was none before the first";
  const auto older = changer.kept().list("", actionId(3), 10).records;
  ASSERT_EQ(older.size(), 2U);
  EXPECT_EQ(older[0].action, actionId(2));
  EXPECT_EQ(changer.kept().totalBytes(), 4U);
}

TEST(Kept, ACopyThatSomebodyChangedIsNotBroughtBack) {
  Workspace work;
  Workspace::put(work.path("f"), "one");
  Changer changer(work.fd());
  ASSERT_EQ(make(changer, write("f", "two"), 1), "");
  Workspace::put(work.path(".factionos/kept/" + actionId(1) + "/content"), "planted");
  EXPECT_EQ(make(changer, restore("f"), 2), "not_kept");
  EXPECT_EQ(Workspace::get(work.path("f")), "two");
}

}  // namespace
}  // namespace factionos::file::test
