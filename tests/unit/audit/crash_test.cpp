#include <array>
#include <filesystem>
#include <functional>

#include <sys/wait.h>
#include <unistd.h>

#include "broker/audit/reader.h"
#include "tests/unit/audit/audit_fixture.h"

// Death at every point, power loss at every byte, and the next start.
namespace factionos::audit {
namespace {

class Killer : public FaultPoints {
 public:
  Killer(FaultPoint point, int pass) : point_(point), pass_(pass) {}
  void reach(FaultPoint point) override {
    if (point == point_ && --pass_ == 0) ::_exit(42);
  }

 private:
  FaultPoint point_;
  int pass_;
};

class CrashTest : public AuditTest {
 protected:
  // Opens the log and runs `work` on it, in a child that dies when it passes `point` for the `pass`th time.
  // True if it got there.
  bool dieAt(FaultPoint point, int pass, const std::function<void(AuditLog&)>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      Killer killer(point, pass);
      AuditOptions faulty = options;
      faulty.faults = &killer;
      try {
        const auto log = AuditLog::open(paths, faulty);
        work(*log);
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_NE(WEXITSTATUS(status), 1);
    return WEXITSTATUS(status) == 42;
  }

  void expectNextStartWorks(const char* when) {
    const Verdict before = check();
    EXPECT_TRUE(before.intact()) << when << ": " << nameOf(before.breach) << " at " << before.sequence;
    append(*open(), 1);
    const Verdict after = check();
    EXPECT_TRUE(after.intact()) << when << ": " << nameOf(after.breach) << " at " << after.sequence;
    EXPECT_FALSE(after.headBehind) << when;
    EXPECT_EQ(after.tornBytes, 0U) << when;
  }
};

TEST_F(CrashTest, DeathAtEveryPointOfAnAppendLeavesALogThatOpens) {
  for (const FaultPoint point :
       {FaultPoint::kBeforeAuditWrite, FaultPoint::kAfterAuditWrite, FaultPoint::kAfterAuditSync,
        FaultPoint::kAfterHeadWrite, FaultPoint::kAfterHeadSync}) {
    // The first pass is the seal of the open, the second the batch.
    for (int pass = 1; pass <= (point == FaultPoint::kAfterAuditSync ? 1 : 2); ++pass) {
      EXPECT_TRUE(dieAt(point, pass, [](AuditLog& log) { log.append(std::vector(3, recordOf())); }));
      expectNextStartWorks(("point " + std::to_string(static_cast<int>(point))).c_str());
    }
  }
}

TEST_F(CrashTest, DeathAtEveryPointOfARollLeavesALogThatOpens) {
  for (const FaultPoint point :
       {FaultPoint::kAfterNextKeyWrite, FaultPoint::kAfterSealSync, FaultPoint::kAfterKeyReplace}) {
    for (int pass = 1; pass <= 2; ++pass) {
      EXPECT_TRUE(dieAt(point, pass, [](AuditLog& log) {
        log.append(std::vector{recordOf()});
        log.roll();
      }));
      expectNextStartWorks(("point " + std::to_string(static_cast<int>(point))).c_str());
    }
  }
}

// The start after the first death rolls, too: before that it must have brought the key that counts to its
// place.
TEST_F(CrashTest, TwoDeathsInARowInARollLeaveALogThatOpens) {
  constexpr std::array kPoints{FaultPoint::kAfterNextKeyWrite, FaultPoint::kAfterSealSync,
                               FaultPoint::kAfterKeyReplace};
  for (const FaultPoint first : kPoints) {
    for (const FaultPoint second : kPoints) {
      for (const FaultPoint point : {first, second})
        EXPECT_TRUE(dieAt(point, 1, [](AuditLog&) {})) << static_cast<int>(point);
      expectNextStartWorks(("points " + std::to_string(static_cast<int>(first)) + ", " +
                            std::to_string(static_cast<int>(second)))
                               .c_str());
    }
  }
}

TEST_F(CrashTest, TornBatchAtEveryByteBecomesAnExplicitGap) {
  std::string before;
  std::string head;
  std::string key;
  {
    const auto log = open();
    append(*log, 1);
    before = testing::readFile(paths.log());
    head = testing::readFile(paths.head());
    key = testing::readFile(paths.key());
    log->append(std::vector(3, recordOf()));
  }
  const std::string whole = testing::readFile(paths.log());
  for (std::size_t size = before.size(); size <= whole.size(); size += size + 40 > whole.size() ? 1U : 23U) {
    testing::overwriteFile(paths.log(), whole.substr(0, size));
    testing::overwriteFile(paths.head(), head);
    testing::overwriteFile(paths.key(), key);
    const Verdict torn = check();
    ASSERT_TRUE(torn.intact()) << size << ": " << nameOf(torn.breach);
    const bool complete = size == whole.size();
    ASSERT_EQ(torn.tornBytes, complete ? 0 : size - before.size());
    open();
    const Verdict mended = check();
    ASSERT_TRUE(mended.intact()) << size << ": " << nameOf(mended.breach) << " at " << mended.sequence;
    ASSERT_EQ(mended.gaps, complete || size == before.size() ? 0U : 1U) << size;
    ASSERT_EQ(mended.records, complete ? 4U : 1U);
  }
}

TEST_F(CrashTest, ZerosAfterPowerLossBecomeAGap) {
  append(*open(), 2);
  testing::overwriteFile(paths.log(), testing::readFile(paths.log()) + std::string(5000, '\0'));
  EXPECT_TRUE(check().intact());
  EXPECT_EQ(check().tornBytes, 5000U);
  expectNextStartWorks("zeros");
  EXPECT_EQ(check().gaps, 1U);
}

TEST_F(CrashTest, BatchThatTheStateNeverCommittedIsVoid) {
  std::uint64_t committed = 0;
  {
    const auto log = open();
    committed = log->append(std::vector{recordOf()}).last;
    log->append(std::vector(2, recordOf()));
  }
  options.committedThrough = committed;
  open();
  const auto after = list(paths, committed + 2, 10);
  ASSERT_GE(after.size(), 1U);
  const auto* voided = std::get_if<Void>(&after[0].body);
  ASSERT_NE(voided, nullptr);
  EXPECT_EQ(voided->first, committed + 1);
  EXPECT_EQ(voided->last, committed + 2);
  open();
  EXPECT_EQ(check().voided, 1U) << "said once";
}

TEST_F(CrashTest, VoidSurvivesDeathBeforeItIsWritten) {
  std::uint64_t committed = 0;
  {
    const auto log = open();
    committed = log->append(std::vector{recordOf()}).last;
    log->append(std::vector(2, recordOf()));
  }
  options.committedThrough = committed;
  EXPECT_TRUE(dieAt(FaultPoint::kBeforeAuditWrite, 1, [](AuditLog&) {}));
  EXPECT_TRUE(dieAt(FaultPoint::kAfterSealSync, 1, [](AuditLog&) {}));
  open();
  EXPECT_EQ(check().voided, 1U);
  EXPECT_TRUE(check().intact());
}

TEST_F(CrashTest, LogBehindTheStateIsRefused) {
  append(*open(), 2);
  options.committedThrough = 100;
  try {
    open();
    FAIL() << "opened";
  } catch (const AuditUnavailable& error) {
    EXPECT_EQ(error.fault(), AuditFault::kBehindState);
  }
}

TEST_F(CrashTest, OldSecretsAreGoneFromTheirFiles) {
  const std::string first = testing::readFile(paths.key());
  const auto spare = home.path() / "another-name-of-the-old-file";
  std::filesystem::create_hard_link(paths.key(), spare);
  open();
  EXPECT_EQ(testing::readFile(spare), std::string(first.size(), '\0')) << "overwritten, not only unlinked";
  EXPECT_NE(testing::readFile(paths.key()), first);
  EXPECT_FALSE(std::filesystem::exists(paths.nextKey()));
}

}  // namespace
}  // namespace factionos::audit
