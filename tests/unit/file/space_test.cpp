// What a file system says when it can't: it is named, and what was there stays.
#include "tests/absent.h"
#include "tests/small_tmp.h"
#include "tests/unit/file/workspace.h"

namespace factionos::file::test {
namespace {

using factionos::test::fillTmp;
using factionos::test::inSmallTmp;
using factionos::test::InSmallTmp;

const std::string kBig(std::size_t{512} << 10, 'x');

void fillingUp() {
  Workspace work;
  Workspace::put(work.path("f"), "old");
  Workspace::put(work.path("large"), kBig);
  Changer changer(work.fd());
  fillTmp(256);
  EXPECT_EQ(make(changer, write("new", kBig), 1), "no_space") << "its content";
  EXPECT_EQ(make(changer, write("f", kBig), 2), "no_space");
  EXPECT_EQ(make(changer, erase("large"), 3), "no_space") << "the copy that is kept of it";
  EXPECT_EQ(Workspace::get(work.path("f")), "old");
  EXPECT_EQ(Workspace::get(work.path("large")), kBig);
  EXPECT_FALSE(std::filesystem::exists(work.path("new")));
  expectNoLitter(work.path());
  EXPECT_EQ(make(changer, write("f", "new"), 4), "") << "what there is room for";
  fillTmp(0);
  EXPECT_EQ(make(changer, write("f", "newer"), 5), "no_space") << "its record";
  EXPECT_EQ(Workspace::get(work.path("f")), "new");
  unlink("/tmp/filler");
  EXPECT_EQ(make(changer, write("f", kBig), 6), "");
}

TEST(Space, AFullFileSystemIsNamedAndWhatWasThereStays) {
  const auto ended = inSmallTmp(2048, fillingUp);
  if (ended == InSmallTmp::kNotToBeHad) ABSENT("user and mount namespaces");
  EXPECT_EQ(ended, InSmallTmp::kPassed);
}

// The kernel answers EIO to whoever reads this one from its beginning, where no memory is.
TEST(Space, AFileThatCannotBeReadFails) {
  const sandbox::Fd self = sandbox::openFile("/proc/self", O_PATH | O_DIRECTORY);
  Changer changer(self.get());
  EXPECT_EQ(codeOf(changer.preview(write("mem", "x"), 10)), "io_failed");
  EXPECT_EQ(codeOf(changer.preview(erase("mem"), 10)), "io_failed");
}

}  // namespace
}  // namespace factionos::file::test
