// What a file system that is full, or takes no more of a file, is called; nothing is half done, and no lock
// stays.
#include <csignal>
#include <filesystem>

#include <sys/resource.h>
#include <unistd.h>

#include "git_harness.h"
#include "tests/absent.h"
#include "tests/small_tmp.h"

namespace factionos::test {
namespace {

using Access = GitWorker::Access;

std::string unlikeItself(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 1;
  for (char& each : text) each = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

void expectNoLocks(const Repo& repo) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(repo.folder() + "/.git")) {
    const std::string name = entry.path().filename();
    EXPECT_FALSE(name.ends_with(".lock") || name.find("factionos-") != std::string::npos) << entry.path();
  }
}

void fillingUp() {
  Repo repo;
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  ASSERT_EQ(worker.denial, "");
  repo.write("big", unlikeItself(std::size_t{1} << 20));
  repo.write("kept.txt", "changed\n");
  fillTmp(512);
  EXPECT_EQ(worker.stage({"big"}), "no_space/file_system") << "its object";
  EXPECT_EQ(git(repo.folder(), {"diff", "--cached", "--name-only"}), "");
  EXPECT_EQ(worker.stage({"kept.txt"}), "") << "what there is room for";
  fillTmp(0);
  EXPECT_EQ(worker.commitAs("second"), "no_space/file_system");
  EXPECT_EQ(git(repo.folder(), {"log", "--format=%s"}), "first\n");
  expectNoLocks(repo);
  unlink("/tmp/filler");
  EXPECT_EQ(worker.commitAs("second"), "");
  git(repo.folder(), {"fsck", "--strict", "--no-dangling"});
}

TEST(GitSpace, AFullFileSystemIsNamedAndLeavesNothingHalfDone) {
  const InSmallTmp ended = inSmallTmp(8192, fillingUp);
  if (ended == InSmallTmp::kNotToBeHad) ABSENT("user and mount namespaces");
  EXPECT_EQ(ended, InSmallTmp::kPassed);
}

// A limit on the size of a file, as a service manager may set one.
TEST(GitSpace, AFileThatMayNotGrowIsNamed) {
  std::signal(SIGXFSZ, SIG_IGN);
  Repo repo;
  repo.write("big", unlikeItself(std::size_t{1} << 20));
  constexpr rlimit kSmall{64 << 10, 64 << 10};
  ASSERT_EQ(prlimit(repo.broker.launcherPid, RLIMIT_FSIZE, &kSmall, nullptr), 0);
  GitWorker worker(repo.broker, repo.folder(), Access::WRITE);
  EXPECT_EQ(worker.stage({"big"}), "io_failed/file_system");
  EXPECT_EQ(git(repo.folder(), {"diff", "--cached", "--name-only"}), "");
  expectNoLocks(repo);
}

}  // namespace
}  // namespace factionos::test
