// P80, C6: a change that was killed at any point has happened or it has not, the file is the one or the
// other, and settle() says which.
#include <algorithm>
#include <chrono>
#include <random>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/file/workspace.h"

namespace factionos::file::test {
namespace {

const std::string kTemporary = ".factionos-" + std::string(32, '0');

// Runs `change` in a child that is killed after `microseconds`; whether it ended by itself.
bool killedAfter(const Workspace& work, const Change& change, const Changer::Approved& states, int number,
                 unsigned microseconds) {
  const pid_t child = fork();
  if (child == 0) {
    Changer changer(work.fd());
    const auto outcome = changer.apply(change, actionId(number), "write", states);
    _exit(deniedIn(outcome) == nullptr ? 0 : 1);
  }
  usleep(microseconds);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status);
}

TEST(Settle, P80WhateverTheMomentTheFileIsOldOrNewAndItIsKnownWhich) {
  Workspace work;
  const std::string big(200'000, 'o');
  std::mt19937 random(3);
  int happened = 0;
  int killed = 0;
  // A change takes as long as its disk; the kills are spread over twice that.
  Workspace::put(work.path("f"), big);
  Changer first(work.fd());
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(make(first, write("f", "first"), 1000), "");
  const auto whole =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  const auto span = static_cast<unsigned>(std::clamp<long>(2 * whole.count(), 2000, 200'000));
  for (int i = 1; i <= 150; ++i) {
    const std::string before = big + std::to_string(i);
    const std::string after = big + "new" + std::to_string(i);
    const int kind = i % 3;  // replace, create, delete
    std::filesystem::remove(work.path("f"));
    if (kind != 1) Workspace::put(work.path("f"), before);
    Changer changer(work.fd());
    const Change change = kind == 2 ? erase("f") : write("f", after);
    const auto state = approved(std::get<Changer::Preview>(changer.preview(change, 0)));
    killed += killedAfter(work, change, state, i, static_cast<unsigned>(random() % span)) ? 0 : 1;
    const Landed landed = changer.settle(actionId(i));
    ASSERT_NE(landed, Landed::kCantTell);
    happened += landed == Landed::kYes ? 1 : 0;
    const bool exists = std::filesystem::exists(work.path("f"));
    const std::string content = Workspace::get(work.path("f"));
    if (landed == Landed::kYes) {
      ASSERT_EQ(exists, kind != 2);
      ASSERT_TRUE(!exists || content == after);
    } else {
      ASSERT_EQ(exists, kind != 1);
      ASSERT_TRUE(!exists || content == before);
    }
    expectNoLitter(work.path());
    ASSERT_EQ(changer.settle(actionId(i)), landed) << "asked again it says the same";
  }
  EXPECT_GT(killed, 10);
  EXPECT_GT(happened, 10);
  EXPECT_LT(happened, 140);
}

struct Left {
  Workspace work;
  Changer changer{work.fd()};
  sandbox::Fd directory = sandbox::openFile(work.path().c_str(), O_RDONLY | O_DIRECTORY);

  // As a crash right after `ready` leaves it: of a replacement of "old" by "new".
  explicit Left(bool withAfter = true) {
    Workspace::put(work.path("f"), "old");
    struct stat status {};
    stat(work.path("f").c_str(), &status);
    Kept kept(work.fd());
    kept.begin({.action = actionId(1),
                .operation = "write",
                .path = "f",
                .temporary = kTemporary,
                .before = shaOf("old"),
                .after = withAfter ? std::optional(shaOf("new")) : std::nullopt,
                .inode = status.st_ino,
                .size = 3,
                .mode = 0644,
                .keptMs = 1});
    const sandbox::Fd file = sandbox::openFile(work.path("f").c_str(), O_RDONLY);
    kept.keepContent(actionId(1), file.get());
    kept.mark(actionId(1), Phase::kReady);
    if (withAfter) Workspace::put(work.path(kTemporary), "new");
  }
};

TEST(Settle, NotYetExchanged) {
  Left left;
  EXPECT_EQ(left.changer.settle(actionId(1)), Landed::kNo);
  EXPECT_EQ(Workspace::get(left.work.path("f")), "old");
  expectNoLitter(left.work.path());
}

TEST(Settle, ExchangedAndNotTidiedUp) {
  Left left;
  syscall(SYS_renameat2, left.directory.get(), "f", left.directory.get(), kTemporary.c_str(), 2);
  EXPECT_EQ(left.changer.settle(actionId(1)), Landed::kYes);
  EXPECT_EQ(Workspace::get(left.work.path("f")), "new");
  expectNoLitter(left.work.path());
  EXPECT_EQ(make(left.changer, restore("f"), 2), "");
  EXPECT_EQ(Workspace::get(left.work.path("f")), "old");
}

TEST(Settle, AStrangersFileThatWasDisplacedGoesBack) {
  Left left;
  Workspace::put(left.work.path("f"), "theirs");
  syscall(SYS_renameat2, left.directory.get(), "f", left.directory.get(), kTemporary.c_str(), 2);
  EXPECT_EQ(left.changer.settle(actionId(1)), Landed::kNo);
  EXPECT_EQ(Workspace::get(left.work.path("f")), "theirs");
  expectNoLitter(left.work.path());
}

TEST(Settle, ADeletionThatBeganAndDidNot) {
  Left untouched(false);
  EXPECT_EQ(untouched.changer.settle(actionId(1)), Landed::kNo);
  EXPECT_EQ(Workspace::get(untouched.work.path("f")), "old");
  Left moved(false);
  std::filesystem::rename(moved.work.path("f"), moved.work.path(kTemporary));
  EXPECT_EQ(moved.changer.settle(actionId(1)), Landed::kYes);
  EXPECT_FALSE(std::filesystem::exists(moved.work.path("f")));
  expectNoLitter(moved.work.path());
}

// The kept copy is all that is left of the old content.
TEST(Settle, ADeletedFilesNumberThatIsUsedAgainIsNotThatFile) {
  Left left(false);
  Workspace::put(left.work.path("f"), "somebody's new one");  // in place: the number stays
  EXPECT_EQ(left.changer.settle(actionId(1)), Landed::kYes);
  EXPECT_EQ(Workspace::get(left.work.path("f")), "somebody's new one");
  std::filesystem::remove(left.work.path("f"));
  EXPECT_EQ(make(left.changer, restore("f"), 2), "");
  EXPECT_EQ(Workspace::get(left.work.path("f")), "old");
}

TEST(Settle, AnActionThatLeftNothingDidNothing) {
  Workspace work;
  Changer changer(work.fd());
  EXPECT_EQ(changer.settle(actionId(5)), Landed::kNo);
}

TEST(Settle, ARecordThatSomebodyForgedReachesNothingProtected) {
  Workspace work;
  Workspace::put(work.path(".git/config"), "[core]\n");
  Kept kept(work.fd());
  kept.begin({.action = actionId(1),
              .operation = "write",
              .path = ".git/config",
              .temporary = kTemporary,
              .before = {},
              .after = shaOf("x"),
              .inode = 0,
              .size = 0,
              .mode = 0,
              .keptMs = 1});
  kept.mark(actionId(1), Phase::kReady);
  Workspace::put(work.path(".git/" + kTemporary), "planted");
  Changer changer(work.fd());
  EXPECT_EQ(changer.settle(actionId(1)), Landed::kCantTell);
  EXPECT_EQ(Workspace::get(work.path(".git/config")), "[core]\n");
}

}  // namespace
}  // namespace factionos::file::test
