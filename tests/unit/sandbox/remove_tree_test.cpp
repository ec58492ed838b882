// Whatever a command leaves behind can be removed.
#include "sandbox/remove_tree.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/descriptors.h"
#include "tests/absent.h"

namespace factionos::sandbox {
namespace {

class RemoveTree : public testing::Test {
 protected:
  RemoveTree() {
    std::string pattern = "/tmp/factionos-remove-XXXXXX";
    root = mkdtemp(pattern.data());
    parent.reset(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    mkdirat(parent.get(), "tree", 0700);
  }
  ~RemoveTree() override {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }

  void expectGone() const {
    EXPECT_EQ(removeTree(parent.get(), "tree"), Removal::kGone);
    EXPECT_NE(faccessat(parent.get(), "tree", F_OK, AT_SYMLINK_NOFOLLOW), 0);
  }

  std::string root;
  Fd parent;
};

TEST_F(RemoveTree, TakesADirectoryWithoutRights) {
  std::filesystem::create_directories(root + "/tree/x/y/z");
  std::ofstream(root + "/tree/x/y/file") << "x";
  for (const char* path : {"/tree/x/y/z", "/tree/x/y", "/tree/x", "/tree"})
    ASSERT_EQ(chmod((root + path).c_str(), 0), 0);
  expectGone();
}

TEST_F(RemoveTree, TakesReadOnlyCaches) {
  std::filesystem::create_directories(root + "/tree/mod/a@v1/b");
  for (int i = 0; i < 500; ++i) std::ofstream(root + "/tree/mod/a@v1/b/" + std::to_string(i)) << "x";
  for (const char* path : {"/tree/mod/a@v1/b", "/tree/mod/a@v1", "/tree/mod"})
    ASSERT_EQ(chmod((root + path).c_str(), 0555), 0);
  expectGone();
}

TEST_F(RemoveTree, TakesAnyDepthWithAHandfulOfDescriptors) {
  Fd at(openat(parent.get(), "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "x", 0700), 0);
    Fd next(openat(at.get(), "x", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (i % 100 == 0) {
      ASSERT_EQ(mkdirat(at.get(), ".up-0", 0700), 0);
      ASSERT_EQ(fchmod(at.get(), 0), 0);
    }
    at = std::move(next);
  }
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{32, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  expectGone();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(RemoveTree, FollowsNoLink) {
  std::filesystem::create_directories(root + "/outside/sub");
  std::ofstream(root + "/outside/sub/kept") << "x";
  ASSERT_EQ(chmod((root + "/outside/sub").c_str(), 0500), 0);
  ASSERT_EQ(symlink((root + "/outside/sub").c_str(), (root + "/tree/link").c_str()), 0);
  ASSERT_EQ(symlink("..", (root + "/tree/up").c_str()), 0);
  expectGone();
  EXPECT_TRUE(std::filesystem::exists(root + "/outside/sub/kept"));
  struct stat status {};
  ASSERT_EQ(stat((root + "/outside/sub").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0500U);

  ASSERT_EQ(symlink("outside", (root + "/tree").c_str()), 0);
  expectGone();
  EXPECT_TRUE(std::filesystem::exists(root + "/outside/sub/kept"));
}

TEST_F(RemoveTree, LeavesAnotherMountAsItIs) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string mount = root + "/tree/a/mount";
    std::filesystem::create_directories(mount);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        ::mount("none", mount.c_str(), "tmpfs", 0, "mode=0500") != 0)
      _exit(2);
    const bool left = removeTree(parent.get(), "tree") == Removal::kLeft;
    struct stat status {};
    const bool untouched = stat(mount.c_str(), &status) == 0 && (status.st_mode & 0777) == 0500;
    _exit(left && untouched ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 2) ABSENT("user namespaces");
  EXPECT_EQ(status, 0);
  expectGone();
}

// Of the same file system, so that its device is the tree's.
TEST_F(RemoveTree, LeavesABindMountAsItIs) {
  const std::string precious = root + "/precious";
  std::filesystem::create_directories(precious + "/deep");
  std::ofstream(precious + "/kept") << "x";
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(2);
    for (const char* place : {"/tree/mount", "/tree/a/mount"}) {
      const std::string mount = root + place;
      std::filesystem::create_directories(mount);
      if (::mount(precious.c_str(), mount.c_str(), nullptr, MS_BIND, nullptr) != 0) _exit(2);
    }
    const Fd here(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // by what is mounted from now on
    _exit(removeTree(here.get(), "tree") == Removal::kLeft ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 2) ABSENT("user namespaces");
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(precious + "/kept"));
  EXPECT_TRUE(std::filesystem::exists(precious + "/deep"));
  expectGone();
}

TEST_F(RemoveTree, TakesWhatIsNotThereForGone) {
  EXPECT_EQ(removeTree(parent.get(), "absent"), Removal::kGone);
}

}  // namespace
}  // namespace factionos::sandbox
