// Protected names that somebody else makes, replaces or moves while a command runs.
#include <filesystem>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"

namespace factionos::test {
namespace {

class ProtectedMeanwhile : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, ProtectedMeanwhile, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

// Beside a command that waits for it: `act` is done on the machine once the command has begun.
class Meanwhile {
 public:
  Meanwhile(const Box& box, std::function<void()> act)
      : begun_(inWorkspace(box, "begun")), goOn_(inWorkspace(box, "go-on")) {
    EXPECT_EQ(mkfifo(begun_.c_str(), 0600), 0);
    EXPECT_EQ(mkfifo(goOn_.c_str(), 0600), 0);
    const int begun = open(begun_.c_str(), O_RDWR | O_CLOEXEC);
    const int goOn = open(goOn_.c_str(), O_RDWR | O_CLOEXEC);
    thread_ = std::jthread([begun, goOn, act = std::move(act)]() {
      char letter = 0;
      EXPECT_EQ(read(begun, &letter, 1), 1);
      act();
      EXPECT_EQ(write(goOn, "x\n", 2), 2);
      close(begun);
      // What was written goes with its last reader.
    });
  }
  static constexpr const char* kWait = "echo x > begun; read x < go-on; ";

 private:
  std::string begun_;
  std::string goOn_;
  std::jthread thread_;
};

// The kernel lets a mount go with what it lies on, as soon as anybody puts something else in its place.
TEST_P(ProtectedMeanwhile, WhatSomebodyReplacesMeanwhileIsKept) {
  Box box(GetParam());
  git(box, "init -q");
  std::filesystem::create_directory(inWorkspace(box, ".vscode"));
  box.world().write(inWorkspace(box, ".vscode/tasks.json"), "{}");
  std::string before;
  const Meanwhile meanwhile(box, [&]() {
    git(box, "config user.name developer");
    std::filesystem::rename(inWorkspace(box, ".vscode"), inWorkspace(box, "old"));
    std::filesystem::create_directory(inWorkspace(box, ".vscode"));
    box.world().write(inWorkspace(box, ".vscode/tasks.json"), "{}");
    box.world().write(inWorkspace(box, ".envrc"), "export A=1\n");
    before = World::read(inWorkspace(box, ".git/config"));
  });
  const Result result = box.broker.run(shell(
      std::string(Meanwhile::kWait) + "echo x >> .git/config; echo x >> .vscode/tasks.json; echo x >> "
                                      ".envrc; true > .envrc; rm -f .envrc; rm -rf .vscode; echo x >> free",
      GetParam()));
  EXPECT_NE(before.find("developer"), std::string::npos);
  EXPECT_EQ(World::read(inWorkspace(box, ".git/config")), before);
  EXPECT_EQ(World::read(inWorkspace(box, ".vscode/tasks.json")), "{}");
  EXPECT_EQ(World::read(inWorkspace(box, ".envrc")), "export A=1\n");
  EXPECT_EQ(World::read(inWorkspace(box, "free")), "x\n");
  EXPECT_FALSE(result.denials.empty());
}

// It has another name then, and a second mount of it would have one, too.
TEST_P(ProtectedMeanwhile, AWorkspaceThatIsRenamedMeanwhileIsKept) {
  Box box(GetParam());
  git(box, "init -q");
  const std::string elsewhere = box.world().workspace + "-renamed";
  const std::string before = World::read(inWorkspace(box, ".git/config"));
  const Meanwhile meanwhile(box, [&]() { std::filesystem::rename(box.world().workspace, elsewhere); });
  const Result result = box.broker.run(
      shell(std::string(Meanwhile::kWait) +
                "echo x >> .git/config; mkdir .claude; ln .git/config alias; exec 3< .git/config; echo x >> "
                "/proc/self/fd/3; mv .git git; echo x >> free",
            GetParam()));
  EXPECT_EQ(World::read(elsewhere + "/.git/config"), before);
  EXPECT_FALSE(World::exists(elsewhere + "/.claude"));
  EXPECT_FALSE(World::exists(elsewhere + "/alias"));
  EXPECT_EQ(World::read(elsewhere + "/free"), "x\n");
  std::filesystem::rename(elsewhere, box.world().workspace);
}

}  // namespace
}  // namespace factionos::test
