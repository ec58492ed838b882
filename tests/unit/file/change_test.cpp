#include "workers/file/change.h"

#include <sys/stat.h>
#include <sys/xattr.h>

#include "tests/absent.h"
#include "tests/unit/file/workspace.h"
#include "workers/file/landing.h"

namespace factionos::file::test {
namespace {

TEST(Change, AWriteMakesAFileAndReplacesOneWithItsModeKept) {
  Workspace work;
  Changer changer(work.fd());
  EXPECT_EQ(make(changer, write("new", "one\n"), 1), "");
  EXPECT_EQ(Workspace::get(work.path("new")), "one\n");
  chmod(work.path("new").c_str(), 0751);
  EXPECT_EQ(make(changer, write("new", "two\n"), 2), "");
  EXPECT_EQ(Workspace::get(work.path("new")), "two\n");
  struct stat status {};
  stat(work.path("new").c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777U, 0751U);
  expectNoLitter(work.path());
}

TEST(Change, MissingDirectoriesAreMadeOnlyWhereThatIsAsked) {
  Workspace work;
  Changer changer(work.fd());
  EXPECT_EQ(make(changer, write("a/b/c", "x"), 1), "not_found");
  EXPECT_EQ(make(changer, write("a/b/c", "x", Parents::kMake), 2), "");
  EXPECT_EQ(Workspace::get(work.path("a/b/c")), "x");
  const auto looked = changer.preview(write("d/e", "x", Parents::kMake), 10);
  EXPECT_EQ(codeOf(looked), "");
  EXPECT_FALSE(std::filesystem::exists(work.path("d"))) << "a preview changes nothing";
}

TEST(Change, AnEditWantsItsTextExactlyOnceOrEverywhere) {
  Workspace work;
  Workspace::put(work.path("f"), "one two two\n");
  Changer changer(work.fd());
  EXPECT_EQ(make(changer, edit("f", "three", "x"), 1), "no_match");
  EXPECT_EQ(make(changer, edit("f", "two", "x"), 2), "many_matches");
  EXPECT_EQ(make(changer, edit("f", "one", "one"), 3), "unchanged");
  EXPECT_EQ(make(changer, edit("f", "", "x"), 4), "no_match");
  EXPECT_EQ(make(changer, edit("missing", "a", "b"), 5), "not_found");
  EXPECT_EQ(Workspace::get(work.path("f")), "one two two\n");
  EXPECT_EQ(make(changer, edit("f", "one", "1"), 6), "");
  EXPECT_EQ(make(changer, edit("f", "two", "2", true), 7), "");
  EXPECT_EQ(Workspace::get(work.path("f")), "1 2 2\n");
}

TEST(Change, BinaryContentsAreKeptByteForByte) {
  Workspace work;
  std::string all;
  for (int i = 0; i < 512; ++i) all += static_cast<char>(i);
  Changer changer(work.fd());
  EXPECT_EQ(make(changer, write("b", all), 1), "");
  EXPECT_EQ(Workspace::get(work.path("b")), all);
  EXPECT_EQ(make(changer, edit("b", std::string_view("\0\1", 2), "\xff\xfe", true), 2), "");
  EXPECT_EQ(Workspace::get(work.path("b")).substr(0, 3), "\xff\xfe\2");
  EXPECT_EQ(make(changer, restore("b"), 3), "");
  EXPECT_EQ(Workspace::get(work.path("b")), all);
}

TEST(Change, WhatIsDeletedComesBackAndSoDoesWhatWasThereBefore) {
  Workspace work;
  Workspace::put(work.path("f"), "one");
  chmod(work.path("f").c_str(), 0640);
  Changer changer(work.fd());
  EXPECT_EQ(make(changer, erase("f"), 1), "");
  EXPECT_FALSE(std::filesystem::exists(work.path("f")));
  EXPECT_EQ(make(changer, erase("f"), 2), "not_found");
  EXPECT_EQ(make(changer, restore("f"), 3), "");
  EXPECT_EQ(Workspace::get(work.path("f")), "one");
  struct stat status {};
  stat(work.path("f").c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
  // The restoration of a restoration: before it there was no file.
  EXPECT_EQ(make(changer, restore("f"), 4), "");
  EXPECT_FALSE(std::filesystem::exists(work.path("f")));
  EXPECT_EQ(make(changer, restore("f", actionId(1)), 5), "");
  EXPECT_EQ(Workspace::get(work.path("f")), "one");
  EXPECT_EQ(make(changer, restore("f", actionId(99)), 6), "not_kept");
  EXPECT_EQ(make(changer, restore("other", actionId(1)), 7), "not_kept");
}

TEST(Change, WhatChangedSinceThePreviewIsNotReplaced) {
  Workspace work;
  Workspace::put(work.path("f"), "one");
  Changer changer(work.fd());
  const auto wanted = write("f", "mine");
  const auto seen = approved(std::get<Changer::Preview>(changer.preview(wanted, 0)));
  Workspace::put(work.path("f"), "theirs");
  EXPECT_EQ(codeOf(changer.apply(wanted, actionId(1), "write", seen)), "changed");
  EXPECT_EQ(Workspace::get(work.path("f")), "theirs");
  EXPECT_EQ(codeOf(changer.apply(wanted, actionId(2), "write", {})), "changed");
  EXPECT_EQ(codeOf(changer.apply(write("g", "x"), actionId(3), "write", seen)), "changed");
  EXPECT_FALSE(std::filesystem::exists(work.path("g")));
  EXPECT_TRUE(changer.kept().list("", "", 10).records.empty());
}

TEST(Change, ALandingThatDisplacesAStrangersFilePutsItBack) {
  Workspace work;
  Workspace::put(work.path("f"), "one");
  struct stat status {};
  stat(work.path("f").c_str(), &status);
  const Landing landing{.directory = work.fd(), .name = "f", .temporary = "t"};
  const sandbox::Fd readable = sandbox::openFile(work.path().c_str(), O_RDONLY | O_DIRECTORY);
  const Landing here{.directory = readable.get(), .name = "f", .temporary = "t"};
  // The identity is right but the content is not what was hashed.
  Workspace::put(work.path("t"), "mine");
  EXPECT_TRUE(here.replace(identityOf(status), shaOf("other")).has_value());
  EXPECT_EQ(Workspace::get(work.path("f")), "one");
  EXPECT_FALSE(std::filesystem::exists(work.path("t")));
  stat(work.path("f").c_str(), &status);
  EXPECT_TRUE(here.remove(identityOf(status), shaOf("other")).has_value());
  EXPECT_EQ(Workspace::get(work.path("f")), "one");
  EXPECT_FALSE(std::filesystem::exists(work.path("t")));
}

TEST(Change, HardLinksKeepTheirOtherNames) {
  Workspace work;
  Workspace::put(work.outside("config"), "theirs");
  ASSERT_EQ(link(work.outside("config").c_str(), work.path("f").c_str()), 0);
  Changer changer(work.fd());
  EXPECT_EQ(std::get<Changer::Preview>(changer.preview(write("f", "mine"), 0)).before.links, 2U);
  EXPECT_EQ(make(changer, write("f", "mine"), 1), "");
  EXPECT_EQ(Workspace::get(work.path("f")), "mine");
  EXPECT_EQ(Workspace::get(work.outside("config")), "theirs");
  EXPECT_EQ(make(changer, erase("f"), 2), "");
  EXPECT_EQ(Workspace::get(work.outside("config")), "theirs");
}

TEST(Change, AUsersAttributesGoOver) {
  Workspace work;
  Workspace::put(work.path("f"), "one");
  if (setxattr(work.path("f").c_str(), "user.note", "kept", 4, 0) != 0)
    ABSENT("a file system with user attributes");
  Changer changer(work.fd());
  EXPECT_EQ(make(changer, write("f", "two"), 1), "");
  char value[8] = {};
  EXPECT_EQ(getxattr(work.path("f").c_str(), "user.note", value, sizeof value), 4);
  EXPECT_STREQ(value, "kept");
}

TEST(Change, P73AnActionIsAppliedOnce) {
  Workspace work;
  Changer changer(work.fd());
  EXPECT_EQ(make(changer, write("f", "one"), 1), "");
  EXPECT_EQ(make(changer, write("f", "two"), 1), "applied_before");
  EXPECT_EQ(Workspace::get(work.path("f")), "one");
  EXPECT_EQ(codeOf(changer.apply(write("f", "x"), "../../x", "write", {})), "request_refused");
}

TEST(Change, TheDiffOfAPreviewIsOfWhatIsThere) {
  Workspace work;
  Workspace::put(work.path("f"), "a\nb\nc\n");
  Changer changer(work.fd());
  const auto found = changer.preview(edit("f", "b\n", "B\nBB\n"), 4096);
  ASSERT_EQ(codeOf(found), "");
  const auto& diff = std::get<Changer::Preview>(found).diff;
  EXPECT_EQ(diff.insertions, 2U);
  EXPECT_EQ(diff.deletions, 1U);
  EXPECT_EQ(diff.text, "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+BB\n c\n");
}

int namesGiven = 0;
const std::string kFirstName = ".factionos-" + std::string(32, 'a');
std::string takenAtFirst() {
  return namesGiven++ == 0 ? kFirstName : newTemporary();
}
std::string alwaysTaken() {
  return kFirstName;
}

TEST(Change, ATemporaryNameThatSomebodyTookIsLeftAloneAndAnotherIsFound) {
  for (const bool directory : {false, true}) {
    Workspace work;
    Workspace::put(work.path("old"), "old");
    directory ? void(std::filesystem::create_directory(work.path(kFirstName)))
              : Workspace::put(work.path(kFirstName), "theirs");
    Changer changer(work.fd(), {}, takenAtFirst);
    int number = 0;
    for (const Change& change : {write("new", "x"), write("old", "y"), erase("old")}) {
      namesGiven = 0;
      EXPECT_EQ(make(changer, change, ++number), "") << directory << number;
      EXPECT_EQ(namesGiven, 2);
    }
    EXPECT_EQ(Workspace::get(work.path("new")), "x");
    EXPECT_FALSE(std::filesystem::exists(work.path("old")));
    EXPECT_EQ(std::filesystem::is_directory(work.path(kFirstName)), directory);
    if (directory) continue;
    EXPECT_EQ(Workspace::get(work.path(kFirstName)), "theirs");
  }
}

TEST(Change, WhoIsAlwaysThereFirstIsToldAndNothingHappens) {
  Workspace work;
  Workspace::put(work.path("f"), "old");
  Workspace::put(work.path(kFirstName), "theirs");
  Changer changer(work.fd(), {}, alwaysTaken);
  EXPECT_EQ(make(changer, write("f", "new"), 1), "crowded");
  EXPECT_EQ(make(changer, erase("f"), 2), "crowded");
  EXPECT_EQ(Workspace::get(work.path("f")), "old");
  EXPECT_EQ(Workspace::get(work.path(kFirstName)), "theirs");
  EXPECT_TRUE(std::filesystem::is_empty(work.path(".factionos/kept"))) << "no record of what was not done";
}

TEST(Change, TemporaryNamesCannotBeForeseen) {
  EXPECT_TRUE(isTemporary(newTemporary()));
  EXPECT_NE(newTemporary(), newTemporary());
}

TEST(Change, WhatIsNotWhatWasApprovedDoesNotCome) {
  Workspace work;
  Workspace::put(work.path("f"), "old");
  Changer changer(work.fd());
  const auto change = write("f", "new");
  const auto seen = std::get<Changer::Preview>(changer.preview(change, 0));
  chmod(work.path("f").c_str(), 0777);
  EXPECT_EQ(codeOf(changer.apply(change, actionId(1), "write", approved(seen))), "changed") << "its mode";
  ASSERT_EQ(make(changer, erase("f"), 2), "");
  const auto back = std::get<Changer::Preview>(changer.preview(restore("f", actionId(2)), 0));
  EXPECT_EQ(back.after.mode, 0777U);
  const auto record = work.path(".factionos/kept/" + actionId(2) + "/record");
  std::string text = Workspace::get(record);
  text.replace(text.find("mode 511"), 8, "mode 420");
  Workspace::put(record, text);
  EXPECT_EQ(codeOf(changer.apply(restore("f", actionId(2)), actionId(3), "restore", approved(back))),
            "changed");
  EXPECT_FALSE(std::filesystem::exists(work.path("f")));
}

}  // namespace
}  // namespace factionos::file::test
