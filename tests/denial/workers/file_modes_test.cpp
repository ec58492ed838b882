// What a command leaves behind in its files: no mode that gives its user away. And what it must be able to do
// with them, as no layer may break it.
#include <sys/resource.h>
#include <sys/stat.h>

#include "box.h"

namespace factionos::test {
namespace {

class FileModes : public StoryTest {};
INSTANTIATE_TEST_SUITE_P(Stories, FileModes, testing::Values(Story::kNamespaces, Story::kForbidden),
                         storyName);

// Files and directories below `root` that carry a set-user-id or set-group-id bit.
std::vector<std::string> setIdBelow(const std::string& root) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    struct stat status {};
    if (lstat(entry.path().c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0)
      found.push_back(entry.path().filename());
  }
  return found;
}

TEST_P(FileModes, NoSetIdBitIsLeftByAnyCall) {
  Box box(GetParam());
  const std::string outside = box.world().outside;
  box.world().write(outside + "/file", "x");
  box.world().write(box.world().workspace + "/file", "x");
  std::filesystem::create_directory(box.world().workspace + "/directory");
  int made = 0;
  for (const char* mode : {"04755", "02755", "06755"}) {
    for (const char* act : {"chmod", "fchmod", "fchmodat", "fchmodat2"}) {
      const std::string control = Box::control({act, outside + "/file", mode});
      if (control == "ENOSYS") continue;  // fchmodat2 came with Linux 6.6
      EXPECT_EQ(control, "ok") << act;
      EXPECT_EQ(setIdBelow(outside).size(), 1U) << act << mode;
      EXPECT_EQ(Box::control({act, outside + "/file", "0644"}), "ok");
      EXPECT_EQ(box.inside({act, "file", mode}), "EPERM") << act << mode;
    }
    for (const char* act :
         {"make-openat", "make-open", "make-creat", "make-unnamed", "make-mknod", "make-mknodat"}) {
      const std::string name = "made" + std::to_string(++made);
      EXPECT_EQ(Box::control({act, outside + "/" + name, mode}), "ok") << act;
      EXPECT_EQ(setIdBelow(outside).size(), 1U) << act << mode;
      unlink((outside + "/" + name).c_str());
      EXPECT_EQ(box.inside({act, name, mode}), "EPERM") << act << mode;
    }
    EXPECT_EQ(box.inside({"make-openat2", "made", mode}), "ENOSYS");
  }
  EXPECT_EQ(box.inside({"chmod", "directory", "02755"}), "EPERM");
  EXPECT_TRUE(setIdBelow(box.world().workspace).empty());
}

TEST_P(FileModes, OrdinaryModesAreTheCommandsOwn) {
  Box box(GetParam());
  box.world().write(box.world().workspace + "/file", "x");
  for (const char* act : {"chmod", "fchmod", "fchmodat"})
    EXPECT_EQ(box.inside({act, "file", "0755"}), "ok") << act;
  for (const char* act : {"make-openat", "make-open", "make-creat", "make-unnamed"})
    EXPECT_EQ(box.inside({act, std::string("by-") + act, "0755"}), "ok") << act;
  EXPECT_EQ(box.inside({"chmod", "by-make-open", "01777"}), "ok");
}

TEST_P(FileModes, FilesMoveAndAreLinkedBetweenDirectories) {
  Box box(GetParam());
  box.world().write(box.world().workspace + "/a/file", "x");
  std::filesystem::create_directory(box.world().workspace + "/b");
  EXPECT_EQ(box.inside({"rename", "a/file", "b/file"}), "ok");
  EXPECT_EQ(box.inside({"link", "b/file", "a/again"}), "ok");
  EXPECT_EQ(World::read(box.world().workspace + "/a/again"), "x");
  const Result result =
      box.broker.run(shell("W=$PWD; for at in $TMPDIR $HOME; do cd $at && mkdir a b && echo x > a/file && "
                           "$W/probe rename a/file b/file && $W/probe link b/file a/again; done",
                           GetParam()));
  EXPECT_EQ(result.output, "ok\r\nok\r\nok\r\nok\r\n");
  // Out of the workspace nothing moves, in neither direction.
  box.world().write(box.world().outside + "/file", "canary");
  EXPECT_EQ(Box::control({"link", box.world().outside + "/file", box.world().outside + "/linked"}), "ok");
  EXPECT_NE(box.inside({"rename", box.world().outside + "/file", "b/stolen"}), "ok");
  EXPECT_NE(box.inside({"link", box.world().outside + "/file", "b/stolen"}), "ok");
  EXPECT_NE(box.inside({"rename", "b/file", box.world().outside + "/given"}), "ok");
  EXPECT_FALSE(World::exists(box.world().workspace + "/b/stolen"));
}

TEST_P(FileModes, MemoryFilesAreNotThere) {
  Box box(GetParam());
  EXPECT_EQ(Box::control({"memfd"}), "ok");
  EXPECT_EQ(box.inside({"memfd"}), "ENOSYS");
  EXPECT_EQ(box.inside({"memfd-secret"}), "ENOSYS");
}

TEST_P(FileModes, NoCoreIsDumpedAlsoWhereItWouldGoIntoAPipe) {
  Box box(GetParam());
  const Result result = box.broker.run(shell("grep '^Max core' /proc/self/limits", GetParam()));
  rlimit own{};
  getrlimit(RLIMIT_CORE, &own);
  const std::string limit = own.rlim_max == 0 ? "0" : "1";
  EXPECT_NE(result.output.find(" " + limit + " "), std::string::npos) << result.output;
}

}  // namespace
}  // namespace factionos::test
