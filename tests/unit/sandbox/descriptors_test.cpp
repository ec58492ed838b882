#include "sandbox/descriptors.h"

#include <array>
#include <system_error>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/unit/sandbox/sandboxed_child.h"

namespace factionos::sandbox {
namespace {

bool open(int descriptor) {
  return fcntl(descriptor, F_GETFD) >= 0;
}

TEST(Descriptors, AnFdClosesOnceAndIsBornCloseOnExec) {
  int number = -1;
  {
    Fd first = openFile("/dev/null", O_RDONLY);
    number = first.get();
    EXPECT_EQ(fcntl(number, F_GETFD), FD_CLOEXEC);
    Fd second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved-from Fd is none, by contract
    EXPECT_TRUE(open(number));
  }
  EXPECT_FALSE(open(number));
}

TEST(Descriptors, AFailedOpenNamesNoPath) {
  try {
    openFile("/nonexistent/very/private", O_RDONLY);
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
    EXPECT_EQ(std::string(error.what()).find("private"), std::string::npos);
  }
}

TEST(Descriptors, CloseAllButKeepsExactlyTheListed) {
  const auto outcome = testing::inChild([](testing::Notes& notes) {
    for (const int number : {3, 7, 8, 20, 500, 1000}) dup2(1, number);
    const std::array keep = {8, 1, 500, 4, 8, 77};  // unsorted, repeated, one that is closed
    closeAllBut(keep);
    int at = 0;
    for (int number = 0; number < 1010; ++number) {
      if (open(number)) notes.numbers[static_cast<std::size_t>(at++)] = number;
    }
    return at;
  });
  ASSERT_EQ(outcome.exitStatus, 4);
  EXPECT_EQ(outcome.notes.numbers[0], 1);
  EXPECT_EQ(outcome.notes.numbers[1], 4);
  EXPECT_EQ(outcome.notes.numbers[2], 8);
  EXPECT_EQ(outcome.notes.numbers[3], 500);
}

TEST(Descriptors, CloseAllButNothingClosesAll) {
  const auto outcome = testing::inChild([](testing::Notes&) {
    closeAllBut({});
    return firstUnexpected({}, 200) == -1 ? 0 : 1;
  });
  EXPECT_EQ(outcome.exitStatus, 0);
}

TEST(Descriptors, FirstUnexpectedFindsALeak) {
  const auto outcome = testing::inChild([](testing::Notes&) {
    const std::array keep = {0, 1, 2, 4};
    if (firstUnexpected(keep, 30) != -1) return 1;
    const Fd leak(openFile("/dev/null", O_RDONLY));
    return firstUnexpected(keep, 30) == leak.get() ? 0 : 2;
  });
  EXPECT_EQ(outcome.exitStatus, 0);
}

}  // namespace
}  // namespace factionos::sandbox
