#include <filesystem>
#include <set>

#include <sys/stat.h>

#include "broker/audit/line.h"
#include "tests/unit/state/state_fixture.h"

namespace factionos::state {
namespace {

TEST(Keys, PurposesAndHomesGiveDifferentDigests) {
  const testing::TempHome home;
  const Keys one = Keys::create(home.path() / "keys");
  const Keys again = Keys::load(home.path() / "keys");
  const Keys other = Keys::create(home.path() / "keys2");
  const Bytes text = audit::asBytes("Idempotency-Key");
  EXPECT_TRUE(one.digest(Purpose::kRequest, text) == again.digest(Purpose::kRequest, text));
  EXPECT_FALSE(one.digest(Purpose::kRequest, text) == other.digest(Purpose::kRequest, text));
  EXPECT_FALSE(one.digest(Purpose::kRequest, text) == one.digest(Purpose::kToken, text));
  EXPECT_FALSE(one.digest(Purpose::kRequest, text) == audit::hash(text));
}

TEST(Keys, FileIsPrivateCheckedAndNeverReplaced) {
  const testing::TempHome home;
  const auto file = home.path() / "keys";
  Keys::create(file);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  EXPECT_EQ(faultOf([&] { Keys::create(file); }), StateFault::kUnsafeFile);
  std::string bytes = testing::readFile(file);
  bytes[20] = static_cast<char>(bytes[20] ^ 1);
  testing::overwriteFile(file, bytes);
  EXPECT_EQ(faultOf([&] { Keys::load(file); }), StateFault::kCorrupt);
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  EXPECT_EQ(faultOf([&] { Keys::load(file); }), StateFault::kUnsafeFile);
  EXPECT_EQ(faultOf([&] { Keys::load(home.path() / "none"); }), StateFault::kIo);
}

TEST(Ids, AreUniqueOrderedAndOfTheirKind) {
  IdGenerator ids;
  std::string last;
  for (int i = 0; i < 5000; ++i) {
    const std::string id = ids.next(IdKind::kAction);
    ASSERT_TRUE(isId(IdKind::kAction, id)) << id;
    ASSERT_LT(last, id);
    last = id;
  }
  EXPECT_TRUE(audit::isActionId(last));
  EXPECT_FALSE(isId(IdKind::kSession, last));
  EXPECT_TRUE(isId(IdKind::kSession, ids.next(IdKind::kSession)));
  for (const char* bad : {"", "act_", "act_01HZX3V7QK8M2N4P6R8T0V2W4", "act_01HZX3V7QK8M2N4P6R8T0V2W4I",
                          "act_81HZX3V7QK8M2N4P6R8T0V2W4Y", "act_01hzx3v7qk8m2n4p6r8t0v2w4y"}) {
    EXPECT_FALSE(isId(IdKind::kAction, bad)) << bad;
  }
}

TEST(Ids, C13_D13_OrderHoldsWhenTheClockStepsBackAndOverARestart) {
  Time now = at(1'700'000'000'000);
  IdGenerator ids([&now] { return now; });
  const std::string first = ids.next(IdKind::kAction);
  now -= std::chrono::hours(48);
  const std::string second = ids.next(IdKind::kAction);
  EXPECT_LT(first, second);
  IdGenerator restarted([&now] { return now; }, at(1'700'000'000'000));
  EXPECT_LT(second, restarted.next(IdKind::kAction));
}

TEST(Ids, TwoGeneratorsDoNotMeet) {
  const auto frozen = [] { return at(5); };
  IdGenerator one(frozen);
  IdGenerator two(frozen);
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(seen.insert(one.next(IdKind::kRun)).second);
    EXPECT_TRUE(seen.insert(two.next(IdKind::kRun)).second);
  }
}

}  // namespace
}  // namespace factionos::state
