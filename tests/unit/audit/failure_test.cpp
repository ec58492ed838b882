#include <atomic>
#include <filesystem>
#include <thread>

#include <sys/stat.h>

#include "broker/audit/reader.h"
#include "tests/unit/audit/audit_fixture.h"

// What the disk does, and what the log makes of it.
namespace factionos::audit {
namespace {

class FailureTest : public AuditTest {
 protected:
  void SetUp() override {
    AuditTest::SetUp();
    options.files = &files;
    log = open();
    append(*log, 2);
  }

  AuditFault appendFault() {
    try {
      append(*log, 1);
    } catch (const AuditUnavailable& error) {
      EXPECT_FALSE(log->healthy());
      return error.fault();
    }
    ADD_FAILURE() << "appended";
    return AuditFault::kMissing;
  }

  std::unique_ptr<AuditLog> log;
};

TEST_F(FailureTest, OneBatchCostsTwoSyncs) {
  files.syncs = 0;
  log->append(std::vector(50, recordOf()));
  EXPECT_EQ(files.syncs, 2);
}

TEST_F(FailureTest, D7_FullDiskIsAnErrorAndHealsWithoutRestart) {
  for (const std::size_t left : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{700}}) {
    const std::uint64_t before = log->lastSequence();
    files.failWrites = true;
    files.bytesLeft = left;
    EXPECT_EQ(appendFault(), AuditFault::kWrite);
    EXPECT_EQ(appendFault(), AuditFault::kWrite);
    EXPECT_TRUE(check().intact()) << nameOf(check().breach);
    EXPECT_EQ(list(paths, before, 10).size(), 0U) << "nothing unacknowledged is listed";
    files.failWrites = false;
    append(*log, 1);
    EXPECT_TRUE(log->healthy());
    const Verdict verdict = check();
    EXPECT_TRUE(verdict.intact()) << nameOf(verdict.breach) << " at " << verdict.sequence;
  }
  EXPECT_GE(check().gaps, 2U) << "what was cut off is told";
  log.reset();
  log = open();
  EXPECT_TRUE(check().intact());
}

TEST_F(FailureTest, FailedSyncOfTheLogOrTheHeadIsAnErrorAndHeals) {
  for (const int which : {1, 2}) {
    files.failSyncIn = which;
    EXPECT_EQ(appendFault(), AuditFault::kWrite);
    EXPECT_TRUE(check().intact()) << which;
    append(*log, 1);
    const Verdict verdict = check();
    EXPECT_TRUE(verdict.intact()) << which << ": " << nameOf(verdict.breach) << " at " << verdict.sequence;
    EXPECT_EQ(verdict.gaps, 1U);
  }
  // The batch whose head failed was durable; the caller heard an error, so it is void.
  EXPECT_EQ(check().voided, 1U);
}

TEST_F(FailureTest, FailedSyncAtEveryStepOfARollHeals) {
  for (int which = 1; which <= 4; ++which) {
    files.failSyncIn = which;
    EXPECT_THROW(log->roll(), AuditUnavailable) << which;
    EXPECT_TRUE(check().intact()) << which << ": " << nameOf(check().breach);
    append(*log, 1);
    EXPECT_TRUE(check().intact()) << which << ": " << nameOf(check().breach) << " at " << check().sequence;
    log.reset();
    log = open();
    EXPECT_TRUE(check().intact()) << which;
  }
}

TEST_F(FailureTest, ReplacedOrRemovedFileIsAnError) {
  const auto moved = home.path() / "moved";
  for (const auto& file : {paths.log(), paths.head()}) {
    std::filesystem::rename(file, moved);
    EXPECT_EQ(appendFault(), AuditFault::kPathReplaced);
    std::filesystem::copy_file(moved, file);
    EXPECT_EQ(appendFault(), AuditFault::kPathReplaced) << "same bytes, another file";
    std::filesystem::rename(moved, file);
    append(*log, 1);
    EXPECT_TRUE(check().intact());
  }
}

TEST_F(FailureTest, D8_FifoInTheLogsPlaceNeverHangs) {
  log.reset();
  std::filesystem::remove(paths.log());
  ASSERT_EQ(::mkfifo(paths.log().c_str(), 0600), 0);
  try {
    open();
    FAIL() << "opened";
  } catch (const AuditUnavailable& error) {
    EXPECT_EQ(error.fault(), AuditFault::kUnsafeFile);
  }
  EXPECT_EQ(check().breach, Breach::kUnreadable);
}

TEST_F(FailureTest, UnsafeFilesAreRefused) {
  log.reset();
  std::filesystem::permissions(paths.log(), std::filesystem::perms(0640));
  EXPECT_THROW(open(), AuditUnavailable);
  std::filesystem::permissions(paths.log(), std::filesystem::perms(0600));
  std::filesystem::rename(paths.log(), home.path() / "real");
  std::filesystem::create_symlink(home.path() / "real", paths.log());
  EXPECT_THROW(open(), AuditUnavailable);
  std::filesystem::rename(home.path() / "real", paths.log());
  EXPECT_TRUE(open());
}

TEST_F(FailureTest, FilesAreBornPrivate) {
  for (const auto& file : {paths.log(), paths.head(), paths.key()}) {
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0600U) << file;
  }
  struct stat status {};
  ASSERT_EQ(::stat(paths.directory().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

TEST_F(FailureTest, TwoWritersOfOneLogAreRefused) {
  try {
    open();
    FAIL() << "opened twice";
  } catch (const AuditUnavailable& error) {
    EXPECT_EQ(error.fault(), AuditFault::kBusy);
  }
}

TEST_F(FailureTest, CreateRefusesAHomeThatHasALog) {
  EXPECT_THROW(AuditLog::create(paths, options), AuditUnavailable);
  EXPECT_TRUE(check().intact());
}

TEST_F(FailureTest, D13_ClockSetBackIsNotedAndOrderHolds) {
  log.reset();
  Time now = Time(std::chrono::hours(24 * 365 * 50));
  options.clock = [&now] { return now; };
  log = open();
  append(*log, 1);
  const std::uint64_t before = log->lastSequence();
  now -= std::chrono::hours(1);
  append(*log, 1);
  now = Time(std::chrono::hours(-1));
  append(*log, 1);
  const auto after = list(paths, before, 10);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_EQ(after[0].clock, ClockNote::kBack);
  EXPECT_EQ(after[1].sequence, before + 2);
  EXPECT_TRUE(check().intact());
}

TEST_F(FailureTest, RefusesARecordWithABadActionId) {
  Record record = recordOf();
  record.actionId = "act_x y=z";
  EXPECT_THROW(log->append(std::vector{record}), AuditUnavailable);
  record.actionId.clear();
  log->append(std::vector{record});
  EXPECT_TRUE(check().intact());
}

TEST_F(FailureTest, EpochRollsByCount) {
  log.reset();
  options.recordsPerEpoch = 10;
  log = open();
  const std::uint64_t epoch = log->epoch();
  append(*log, 35);
  EXPECT_EQ(log->epoch(), epoch + 3);
  EXPECT_TRUE(check().intact());
}

TEST_F(FailureTest, D11_VerifyWhileWritingGivesNoFalseAlarm) {
  log.reset();
  options.recordsPerEpoch = 20;
  log = open();
  std::atomic<bool> stop{false};
  // Bounded: where syncing costs nothing the log would outgrow its readers.
  constexpr int kBatches = 600;
#ifdef FACTIONOS_SANITIZED
  constexpr int kChecks = 20;  // each reads the whole log, ten times as slowly
#else
  constexpr int kChecks = 150;
#endif
  std::thread writer([&] {
    for (int i = 0; i < kBatches && !stop; ++i) log->append(std::vector(3, recordOf()));
  });
  for (int i = 0; i < kChecks; ++i) {
    const Verdict verdict = check();
    EXPECT_TRUE(verdict.intact()) << nameOf(verdict.breach) << " at " << verdict.sequence;
    if (!verdict.intact()) break;
  }
  stop = true;
  writer.join();
  EXPECT_TRUE(check().intact());
}

}  // namespace
}  // namespace factionos::audit
