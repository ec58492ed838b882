// A file is replaced or removed only as the one that was judged: whoever edits, exchanges or makes one at any
// moment beside it keeps what he has.
#include "workers/git/replacing.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "workers/git/refusal.h"

namespace factionos::git {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "file";
constexpr const char* kAside = "aside";
constexpr const char* kFresh = "fresh";

class Replacing : public testing::Test {
 protected:
  Replacing() {
    std::string pattern = "/tmp/factionos-replacing-XXXXXX";
    root = mkdtemp(pattern.data());
    folder.reset(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    write(kName, "judged");
    write(kFresh, "new");
  }
  ~Replacing() override { fs::remove_all(root); }

  [[nodiscard]] std::string at(const char* name) const { return root + "/" + name; }
  void write(const char* name, const std::string& text) const { std::ofstream(at(name)) << text; }
  [[nodiscard]] std::string read(const char* name) const {
    std::ifstream in(at(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // As an editor saves: another file gets the name.
  void exchange(const std::string& text) const {
    write("edited", text);
    fs::rename(at("edited"), at(kName));
  }

  // Judged at a time that nothing written later can have.
  [[nodiscard]] KnownFile judged() const {
    KnownFile known;
    do known.stamp = stampOf(folder.get(), kName);
    while (!known.stamp.settled);
    known.hasItsContent = [this](int, const std::string& name) { return read(name.c_str()) == "judged"; };
    return known;
  }
  // The same, where content alone tells: and between looking at it in its place and taking it away somebody
  // does this.
  [[nodiscard]] KnownFile judgedBefore(std::function<void()> act) const {
    KnownFile known = judged();
    known.stamp.settled = false;
    known.hasItsContent = [this, act = std::move(act)](int, const std::string& name) {
      const bool has = read(name.c_str()) == "judged";
      if (name == kName) act();
      return has;
    };
    return known;
  }

  std::string replaced(const KnownFile& known) const {
    return denialOf([&]() { replace(folder.get(), kFresh, kName, kAside, known); });
  }
  std::string removed(const KnownFile& known) const {
    return denialOf([&]() { removeKnown(folder.get(), kName, kAside, known); });
  }
  static std::string denialOf(const std::function<void()>& act) {
    try {
      act();
    } catch (const Refusal& refusal) {
      return std::string(refusal.code) + "/" + std::string(refusal.rule);
    }
    return {};
  }

  std::string root;
  sandbox::Fd folder;
};

TEST_F(Replacing, WhatWasJudgedIsReplacedAndRemoved) {
  EXPECT_EQ(replaced(judged()), "");
  EXPECT_EQ(read(kName), "new");
  EXPECT_FALSE(fs::exists(at(kAside)));
  EXPECT_FALSE(fs::exists(at(kFresh)));
  write(kName, "judged");
  EXPECT_EQ(removed(judged()), "");
  EXPECT_TRUE(fs::is_empty(root));
}

TEST_F(Replacing, WhatWasTouchedAndHasItsContentIsReplacedAllTheSame) {
  const KnownFile known = judged();
  write(kName, "judged");
  EXPECT_EQ(replaced(known), "");
  EXPECT_EQ(read(kName), "new");
}

TEST_F(Replacing, WhatWasEditedSinceStays) {
  using Edit = std::function<void()>;
  for (const Edit& edit : {Edit([&]() { write(kName, "mine"); }), Edit([&]() { write(kName, "JUDGED"); }),
                           Edit([&]() { exchange("mine"); }), Edit([&]() { exchange("JUDGED"); })}) {
    exchange("judged");
    const KnownFile known = judged();
    edit();
    const std::string text = read(kName);
    EXPECT_EQ(replaced(known), "would_overwrite/edited");
    EXPECT_EQ(removed(known), "would_overwrite/edited");
    EXPECT_EQ(read(kName), text);
  }
}

TEST_F(Replacing, WhatHasAnotherModeOrKindOrIsGoneStaysSo) {
  const KnownFile known = judged();
  fs::permissions(at(kName), fs::perms::owner_all);
  EXPECT_EQ(replaced(known), "would_overwrite/edited");
  EXPECT_EQ(removed(known), "would_overwrite/edited");
  fs::remove(at(kName));
  EXPECT_EQ(replaced(known), "would_overwrite/edited");
  EXPECT_EQ(removed(known), "would_overwrite/edited");
  EXPECT_FALSE(fs::exists(at(kName)));
  fs::create_directories(at(kName) + "/mine");
  EXPECT_EQ(replaced(known), "would_overwrite/edited");
  EXPECT_EQ(removed(known), "would_overwrite/edited");
  EXPECT_TRUE(fs::exists(at(kName) + "/mine"));
}

TEST_F(Replacing, AnEditInTheLastMomentGetsItsNameBack) {
  EXPECT_EQ(replaced(judgedBefore([&]() { write(kName, "mine"); })), "would_overwrite/edited");
  EXPECT_EQ(read(kName), "mine");
  exchange("judged");
  write(kFresh, "new");
  EXPECT_EQ(replaced(judgedBefore([&]() { exchange("mine"); })), "would_overwrite/edited");
  EXPECT_EQ(read(kName), "mine");
  exchange("judged");
  EXPECT_EQ(removed(judgedBefore([&]() { exchange("mine"); })), "would_overwrite/edited");
  EXPECT_EQ(read(kName), "mine");
  EXPECT_FALSE(fs::exists(at(kAside)));
}

// In the same file, to the same size: its time tells, where a rename alone has changed the other one.
TEST_F(Replacing, AnEditOfTheSameSizeInTheLastMomentGetsItsNameBack) {
  for (const bool goes : {false, true}) {
    exchange("judged");
    write(kFresh, "new");
    KnownFile known = judgedBefore([&]() { write(kName, "JUDGED"); });
    known.stamp.settled = true;
    known.stamp.changed = {};  // as of a file of which another name has gone
    EXPECT_EQ(goes ? removed(known) : replaced(known), "would_overwrite/edited");
    EXPECT_EQ(read(kName), "JUDGED");
  }
}

TEST_F(Replacing, WhatVanishesInTheLastMomentIsNotMadeAgain) {
  EXPECT_EQ(replaced(judgedBefore([&]() { fs::remove(at(kName)); })), "would_overwrite/edited");
  EXPECT_TRUE(fs::is_empty(root));
  write(kName, "judged");
  EXPECT_EQ(removed(judgedBefore([&]() { fs::remove(at(kName)); })), "would_overwrite/edited");
  EXPECT_TRUE(fs::is_empty(root));
}

// Edited when it had just been taken away, while something else comes to its name.
TEST_F(Replacing, WhereTwoHaveComeBothStay) {
  for (const bool goes : {false, true}) {
    exchange("judged");
    write(kFresh, "new");
    KnownFile known = judged();
    known.stamp.settled = false;
    known.hasItsContent = [&](int, const std::string& name) {
      if (name == kName) return true;
      write(kAside, "mine");
      exchange("another's");
      return false;
    };
    EXPECT_EQ(goes ? removed(known) : replaced(known), "would_overwrite/kept_aside");
    const std::string mine = goes ? read(kAside) : read(kName);
    const std::string another = goes ? read(kName) : read(kAside);
    EXPECT_EQ(mine, "mine");
    EXPECT_EQ(another, "another's");
    fs::remove(at(kAside));
  }
}

// Somebody's, under the name that we would use.
TEST_F(Replacing, WhatHasTheNameOfWhatIsTakenAwayStays) {
  write(kAside, "mine");
  EXPECT_NE(replaced(judged()), "");
  EXPECT_NE(removed(judged()), "");
  EXPECT_EQ(read(kAside), "mine");
  EXPECT_EQ(read(kName), "judged");
}

TEST_F(Replacing, WhatIsBroughtReplacesNothing) {
  EXPECT_EQ(denialOf([&]() { bring(folder.get(), kFresh, kName); }), "would_overwrite/untracked");
  EXPECT_EQ(read(kName), "judged");
  EXPECT_EQ(read(kFresh), "new");
  fs::remove(at(kName));
  EXPECT_EQ(denialOf([&]() { bring(folder.get(), kFresh, kName); }), "");
  EXPECT_EQ(read(kName), "new");
}

// A plain rename replaces an empty directory.
TEST_F(Replacing, WhatGetsItsNameBackReplacesNoDirectory) {
  for (const char* name : {"old", "new"}) fs::create_directory(at(name));
  write("old/mine", "mine");
  EXPECT_EQ(renameToFree(folder.get(), "old", "new"), EEXIST);
  EXPECT_EQ(read("old/mine"), "mine");
  EXPECT_TRUE(fs::is_empty(at("new")));
  fs::remove(at("new"));
  EXPECT_EQ(renameToFree(folder.get(), "old", "new"), 0);
  EXPECT_EQ(read("new/mine"), "mine");
}

}  // namespace
}  // namespace factionos::git
