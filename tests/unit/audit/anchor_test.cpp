#include "broker/audit/anchor.h"

#include <filesystem>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/audit/audit_fixture.h"

// SPEC 6.3: what the home alone can't show, a file outside of it does.
namespace factionos::audit {
namespace {

class AnchorTest : public AuditTest {
 protected:
  std::filesystem::path file = home.path() / "outside-anchor";

  std::unique_ptr<AuditLog> openAnchored() {
    anchor.emplace(Anchor::open(file));
    options.anchor = &*anchor;
    return open();
  }

  std::optional<Anchor> anchor;
};

TEST_F(AnchorTest, EveryBatchIsTold) {
  const auto log = openAnchored();
  EXPECT_EQ(readAnchor(file), (AnchorPoint{log->lastSequence(), log->lastHash()})) << "the start is one";
  append(*log, 3);
  EXPECT_EQ(readAnchor(file), (AnchorPoint{log->lastSequence(), log->lastHash()}));
  log->roll();
  EXPECT_EQ(readAnchor(file), (AnchorPoint{log->lastSequence(), log->lastHash()}));
  EXPECT_TRUE(log->anchored());
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(AnchorTest, PuttingTheWholeHomeBackIsRefusedAtTheNextStart) {
  openAnchored().reset();
  const auto save = home.path() / "saved";
  const auto whole = {paths.log(), paths.head(), paths.key()};
  std::filesystem::create_directory(save);
  for (const auto& each : whole) std::filesystem::copy_file(each, save / each.filename());
  {
    const auto log = openAnchored();
    append(*log, 3);
  }
  for (const auto& each : whole) testing::overwriteFile(each, testing::readFile(save / each.filename()));
  EXPECT_THROW(openAnchored(), AuditUnavailable);
  options.anchor = nullptr;
  EXPECT_NO_THROW(open()) << "the control: nothing else tells";
}

TEST_F(AnchorTest, ATornLineIsPassedOverAndTheNextOneIsWhole) {
  openAnchored().reset();
  const std::string whole = testing::readFile(file);
  testing::overwriteFile(file, whole + "faa1 seq=99");
  const auto log = openAnchored();
  EXPECT_EQ(readAnchor(file), (AnchorPoint{log->lastSequence(), log->lastHash()}));
}

TEST_F(AnchorTest, WhatIsNoAnchorIsRefusedAndLeftAlone) {
  for (const std::string text : {"text", "text\n", "faa1 seq=1 hash=00\n", "faa1 seq=x\n", "\n"}) {
    testing::overwriteFile(file, text);
    EXPECT_THROW(Anchor::open(file), FileError) << text;
    EXPECT_EQ(testing::readFile(file), text);
  }
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::symlink("/dev/null", file.c_str()), 0);
  EXPECT_THROW(Anchor::open(file), FileError) << "a link";
  EXPECT_THROW(Anchor::open(home.path()), FileError) << "a directory";
  EXPECT_THROW(Anchor::open(home.path() / "absent/anchor"), FileError);
  ASSERT_EQ(::mkfifo((home.path() / "fifo").c_str(), 0600), 0);
  EXPECT_THROW(Anchor::open(home.path() / "fifo"), FileError) << "and never waits for a writer";
}

TEST_F(AnchorTest, OnlyItsLastLinesAreRead) {
  std::string text;
  for (std::uint64_t i = 1; i <= 1000; ++i) text += anchorLine({i, Digest{}});
  testing::overwriteFile(file, text);
  EXPECT_EQ(readAnchor(file)->sequence, 1000U);
}

TEST_F(AnchorTest, ALostAnchorStopsNothingAndIsTold) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "/dev/full is missing";
  const auto log = openAnchored();
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  ASSERT_GE(::dup3(full, anchor->descriptor(), O_CLOEXEC), 0);
  ::close(full);
  append(*log, 1);
  EXPECT_FALSE(log->anchored());
  EXPECT_TRUE(log->healthy());
}

}  // namespace
}  // namespace factionos::audit
