#include "workers/file/reading.h"

#include "tests/unit/file/workspace.h"

namespace factionos::file::test {
namespace {

TEST(Listing, IsPagedInByteOrderAndComplete) {
  Workspace work;
  for (int i = 0; i < 250; ++i) Workspace::put(work.path("d/" + std::to_string(i)), "x");
  std::vector<std::string> names;
  std::string after;
  for (int page = 0; page < 10; ++page) {
    const auto found = listDirectory(work.fd(), "d", after, 100);
    ASSERT_EQ(codeOf(found), "");
    const auto& listing = std::get<Listing>(found);
    for (const auto& entry : listing.entries) names.push_back(entry.name);
    if (!listing.more) break;
    after = names.back();
  }
  EXPECT_EQ(names.size(), 250U);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Listing, G7NamesAreBytes) {
  Workspace work;
  const std::vector<std::string> names = {"new\nline", "tab\t", "\x1b[2J", "\xff\xfe", std::string(255, 'n')};
  for (const auto& name : names) Workspace::put(work.path(name), "x");
  const auto found = listDirectory(work.fd(), "", "", 100);
  ASSERT_EQ(codeOf(found), "");
  for (const auto& name : names) {
    const auto& entries = std::get<Listing>(found).entries;
    EXPECT_TRUE(
        std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == name; }));
    EXPECT_EQ(std::get<Piece>(readPiece(work.fd(), name, 0, 9)).content, "x");
  }
}

TEST(Listing, OurOwnFolderIsNobodysToRead) {
  Workspace work;
  Changer changer(work.fd());
  ASSERT_EQ(make(changer, write("f", "x"), 1), "");
  EXPECT_EQ(std::get<Listing>(listDirectory(work.fd(), "", "", 10)).entries.size(), 1U);
  EXPECT_EQ(codeOf(listDirectory(work.fd(), ".factionos", "", 10)), "path_protected");
  EXPECT_EQ(codeOf(lookAt(work.fd(), ".factionos/kept")), "path_protected");
  EXPECT_EQ(codeOf(readPiece(work.fd(), ".factionos/.gitignore", 0, 9)), "path_protected");
}

TEST(Reading, GivesTheRangeThatWasAskedForAndIsBounded) {
  Workspace work;
  Workspace::put(work.path("f"), "0123456789");
  EXPECT_EQ(std::get<Piece>(readPiece(work.fd(), "f", 3, 4)).content, "3456");
  EXPECT_EQ(std::get<Piece>(readPiece(work.fd(), "f", 8, 4)).content, "89");
  EXPECT_EQ(std::get<Piece>(readPiece(work.fd(), "f", 80, 4)).content, "");
  EXPECT_EQ(std::get<Piece>(readPiece(work.fd(), "f", 0, 4)).state.size, 10U);
  EXPECT_EQ(codeOf(readPiece(work.fd(), "f", 0, kLongestRead + 1)), "request_refused");
  EXPECT_EQ(codeOf(readPiece(work.fd(), "f", UINT64_MAX, 10)), "request_refused");
  EXPECT_EQ(codeOf(readPiece(work.fd(), "missing", 0, 10)), "not_found");
}

TEST(Looking, TellsWhatIsThereAndThatNothingIs) {
  Workspace work;
  Workspace::put(work.path("f"), "content");
  std::filesystem::create_symlink("f", work.path("link"));
  EXPECT_EQ(std::get<FileState>(lookAt(work.fd(), "f")).sha, shaOf("content"));
  EXPECT_EQ(std::get<FileState>(lookAt(work.fd(), "link")).kind, Kind::kSymlink);
  EXPECT_EQ(std::get<FileState>(lookAt(work.fd(), "none")).kind, Kind::kAbsent);
  EXPECT_EQ(std::get<FileState>(lookAt(work.fd(), "")).kind, Kind::kDirectory);
}

TEST(Reading, OurOwnFolderIsNobodysByAnyName) {
  Workspace work;
  Workspace::put(work.path(".factionos/kept/x/content"), "kept");
  std::filesystem::create_directory(work.path("sub"));
  std::filesystem::create_symlink(".factionos", work.path("link"));
  std::filesystem::create_symlink("../.factionos/kept", work.path("sub/link"));
  EXPECT_EQ(codeOf(listDirectory(work.fd(), "link/kept", "", 10)), "path_protected");
  EXPECT_EQ(codeOf(listDirectory(work.fd(), "link", "", 10)), "path_protected");
  EXPECT_EQ(codeOf(readPiece(work.fd(), "sub/link/x/content", 0, 4)), "path_protected");
  EXPECT_EQ(codeOf(lookAt(work.fd(), "link/kept/x/content")), "path_protected");
  EXPECT_EQ(codeOf(lookAt(work.fd(), "link")), "") << "the link itself";
}

}  // namespace
}  // namespace factionos::file::test
