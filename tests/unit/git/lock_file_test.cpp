// Whose a lock is can be told at every moment of its life, also where none of its words has come to the disk.
#include "workers/git/lock_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace factionos::git {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOurs = "act_1";
constexpr const char* kAnother = "act_2";

class Locks : public testing::Test {
 protected:
  Locks() {
    std::string pattern = "/tmp/factionos-locks-XXXXXX";
    root = mkdtemp(pattern.data());
    folder.reset(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::ofstream(at("main")) << "old\n";
  }
  ~Locks() override { fs::remove_all(root); }

  [[nodiscard]] std::string at(const std::string& name) const { return root + "/" + name; }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(at(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::size_t names() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(root), fs::directory_iterator()));
  }
  // As after a crash: nothing takes its names away before the test is over.
  LockFile& left(const std::string& content) {
    return *died.emplace_back(std::make_unique<LockFile>(folder.get(), "main", kOurs, content));
  }
  void expectOurs() {
    EXPECT_TRUE(LockFile::isHeldFor(folder.get(), "main", kOurs));
    LockFile::removeLeft(folder.get(), "main", kOurs);
    EXPECT_EQ(names(), 1U) << "the reference alone";
  }

  std::string root;
  sandbox::Fd folder;
  std::vector<std::unique_ptr<LockFile>> died;
};

TEST_F(Locks, ItIsHeldByOneAndLeavesNothing) {
  {
    LockFile lock(folder.get(), "main", kOurs, "new\n");
    EXPECT_TRUE(lock.held());
    EXPECT_FALSE(LockFile(folder.get(), "main", kAnother, "other\n").held());
    EXPECT_EQ(read("main"), "old\n");
    lock.put();
    EXPECT_EQ(read("main"), "new\n");
    EXPECT_TRUE(LockFile(folder.get(), "main", kAnother, "other\n").held()) << "it is let go of by that";
  }
  EXPECT_EQ(names(), 1U);
}

TEST_F(Locks, WhatIsKnownLaterTakesItsPlaceToo) {
  {
    LockFile lock(folder.get(), "main", kOurs);
    lock.replace("later\n");
    EXPECT_EQ(read("main"), "later\n");
    EXPECT_TRUE(LockFile::isHeldFor(folder.get(), "main", kOurs));
    EXPECT_FALSE(LockFile::isHeldFor(folder.get(), "main", kAnother));
  }
  EXPECT_EQ(names(), 1U);
}

TEST_F(Locks, OneThatACrashLeftIsItsActions) {
  EXPECT_TRUE(left("new\n").held());
  LockFile::removeLeft(folder.get(), "main", kAnother);
  EXPECT_TRUE(fs::exists(at("main.lock"))) << "another action's";
  expectOurs();
}

TEST_F(Locks, OneWhoseWordsWereLostIsItsActions) {
  EXPECT_TRUE(left({}).held());
  fs::resize_file(at("main.lock"), 0);
  LockFile::removeLeft(folder.get(), "main", kAnother);
  EXPECT_TRUE(fs::exists(at("main.lock"))) << "another action's";
  expectOurs();
}

TEST_F(Locks, OfOneWhoseContentHasTakenItsPlaceNothingIsTakenFromTheNext) {
  left("new\n").put();
  EXPECT_FALSE(fs::exists(at("main.lock")));
  {
    const LockFile next(folder.get(), "main", kAnother, "next\n");
    EXPECT_TRUE(next.held());
    LockFile::removeLeft(folder.get(), "main", kOurs);
    EXPECT_TRUE(LockFile::isHeldFor(folder.get(), "main", kAnother));
  }
  EXPECT_EQ(names(), 1U) << "the reference alone";
  EXPECT_EQ(read("main"), "new\n");
}

TEST_F(Locks, SomebodyElsesStays) {
  std::ofstream(at("main.lock")) << "";
  EXPECT_FALSE(LockFile(folder.get(), "main", kOurs, "new\n").held());
  EXPECT_FALSE(LockFile::isHeldFor(folder.get(), "main", kOurs));
  LockFile::removeLeft(folder.get(), "main", kOurs);
  EXPECT_TRUE(fs::exists(at("main.lock")));
}

}  // namespace
}  // namespace factionos::git
