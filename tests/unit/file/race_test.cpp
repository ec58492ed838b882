// P7: whoever swaps a directory for a link while a change is under way gets nothing written outside, in
// 10,000 tries, and nobody's own write is lost.
#include <atomic>
#include <thread>

#include <linux/fs.h>
#include <sys/syscall.h>

#include "tests/unit/file/workspace.h"
#include "workers/file/reading.h"

namespace factionos::file::test {
namespace {

constexpr int kTries = 10'000;

TEST(Race, P7ASwappedDirectoryLeadsNobodyOut) {
  Workspace work;
  Workspace::put(work.path("d/f"), "inside");
  Workspace::put(work.outside("f"), "outside");
  std::filesystem::create_directory_symlink(work.outside(), work.path("e"));
  std::atomic<bool> stop{false};
  std::thread swapper([&]() {
    while (!stop) {
      syscall(SYS_renameat2, AT_FDCWD, work.path("d").c_str(), AT_FDCWD, work.path("e").c_str(),
              RENAME_EXCHANGE);
    }
  });
  Changer changer(work.fd());
  int landed = 0;
  int read = 0;
  for (int i = 0; i < kTries; ++i) {
    // All of them walk; one in a hundred writes, and waits for the disk.
    if (i % 100 == 0) {
      landed += make(changer, write("d/f", "written " + std::to_string(i)), i + 1).empty() ? 1 : 0;
    } else {
      const auto piece = readPiece(work.fd(), "d/f", 0, 100);
      if (deniedIn(piece) != nullptr) continue;
      ++read;
      ASSERT_NE(std::get<Piece>(piece).content, "outside");
    }
  }
  stop = true;
  swapper.join();
  EXPECT_EQ(Workspace::get(work.outside("f")), "outside");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(work.outside()), {}), 1);
  EXPECT_GT(landed, 0) << "no try got through, so nothing was proven";
  EXPECT_GT(read, 0);
}

TEST(Race, AFileSwappedForALinkOrAFifoIsNeverFollowedAndNeverBlocks) {
  Workspace work;
  Workspace::put(work.path("f"), "inside");
  Workspace::put(work.outside("secret"), "outside");
  ASSERT_EQ(mkfifo(work.path("g").c_str(), 0600), 0);
  std::filesystem::create_symlink("../outside/secret", work.path("h"));
  std::atomic<bool> stop{false};
  std::thread swapper([&]() {
    const auto swap = [&](const char* other) {
      for (int twice = 0; twice < 2; ++twice)
        syscall(SYS_renameat2, AT_FDCWD, work.path("f").c_str(), AT_FDCWD, work.path(other).c_str(),
                RENAME_EXCHANGE);
    };
    while (!stop) {
      swap("g");
      swap("h");
    }
  });
  int read = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto piece = readPiece(work.fd(), "f", 0, 100);
    if (deniedIn(piece) != nullptr) continue;
    ++read;
    ASSERT_EQ(std::get<Piece>(piece).content, "inside");
  }
  stop = true;
  swapper.join();
  EXPECT_GT(read, 0);
}

// Somebody who saves the same file all the time: each of their saves is there after we were denied, and none
// is overwritten unseen.
TEST(Race, AConcurrentWritersWorkIsNotLost) {
  Workspace work;
  Workspace::put(work.path("f"), "theirs 0");
  std::atomic<bool> stop{false};
  std::atomic<int> saved{0};
  std::thread editor([&]() {
    for (int i = 1; !stop; ++i) {
      Workspace::put(work.path("save"), "theirs " + std::to_string(i));
      std::filesystem::rename(work.path("save"), work.path("f"));
      saved = i;
    }
  });
  Changer changer(work.fd());
  int landed = 0;
  for (int i = 1; i <= 150; ++i) {
    const std::string mine = "mine " + std::to_string(i);  // borrowed by the change
    const auto wanted = write("f", mine);
    const auto preview = changer.preview(wanted, 0);
    if (deniedIn(preview) != nullptr) continue;
    if (codeOf(changer.apply(wanted, actionId(i), "write", approved(std::get<Changer::Preview>(preview))))
            .empty()) {
      ++landed;
      // What was replaced is what was previewed, and it is kept.
      const auto kept = changer.kept().find(actionId(i));
      ASSERT_TRUE(kept);
      EXPECT_EQ(kept->record.before, std::get<Changer::Preview>(preview).before.sha);
    }
  }
  stop = true;
  editor.join();
  expectNoLitter(work.path());
  EXPECT_GT(saved, 0);
  RecordProperty("landed", landed);
}

}  // namespace
}  // namespace factionos::file::test
