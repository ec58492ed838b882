#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/audit/reader.h"
#include "broker/state/meta_table.h"
#include "tests/unit/state/state_fixture.h"

namespace factionos::state {
namespace {

using audit::AuditFault;
using audit::AuditUnavailable;
using audit::FaultPoint;

class WriterTest : public StateTest {
 protected:
  Mutation propose(const std::string& id) {
    return [id](Transaction& transaction) {
      ActionRow row = actionOf(id);
      ActionTable(transaction.database()).insert(row);
      transaction.audit(recordOf(id));
    };
  }

  std::string nextId() { return ids.next(IdKind::kAction); }
  bool exists(const std::string& id) { return ActionTable(*database).find(id).has_value(); }
  std::uint64_t recorded() { return check().records; }

  static AuditFault auditFault(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const AuditUnavailable& found) {
      return found.fault();
    } catch (const std::exception& other) {
      ADD_FAILURE() << other.what();
    }
    return AuditFault::kMissing;
  }
};

TEST_F(WriterTest, ManyMutationsShareOneSyncOfEachFile) {
  std::vector<Mutation> batch;
  for (int i = 0; i < 40; ++i) batch.push_back(propose(nextId()));
  files.syncs = 0;
  const BatchResult result = writer->runBatch(batch);
  EXPECT_EQ(result.committed, 40U);
  EXPECT_EQ(files.syncs, 2) << "the log and its head, once each";
  EXPECT_EQ(recorded(), 40U);
}

TEST_F(WriterTest, MutationThatThrowsIsUndoneAlone) {
  const std::string good = nextId();
  const std::string bad = nextId();
  const std::string other = nextId();
  const BatchResult result = writer->runBatch({propose(good),
                                               [&](Transaction& transaction) {
                                                 propose(bad)(transaction);
                                                 throw std::runtime_error("stale");
                                               },
                                               propose(other)});
  EXPECT_EQ(result.committed, 2U);
  EXPECT_EQ(result.errors[0], nullptr);
  EXPECT_THROW(std::rethrow_exception(result.errors[1]), std::runtime_error);
  EXPECT_EQ(result.errors[2], nullptr);
  EXPECT_TRUE(exists(good));
  EXPECT_FALSE(exists(bad));
  EXPECT_TRUE(exists(other));
  EXPECT_EQ(recorded(), 2U) << "its record went with it";
}

TEST_F(WriterTest, D7_NoAuditNoAction) {
  const std::string refused = nextId();
  files.failWrites = true;
  const BatchResult result = writer->runBatch({propose(refused), propose(nextId())});
  EXPECT_EQ(result.committed, 0U);
  EXPECT_EQ(auditFault(result.errors[0]), AuditFault::kWrite);
  EXPECT_EQ(auditFault(result.errors[1]), AuditFault::kWrite);
  EXPECT_FALSE(exists(refused));
  EXPECT_FALSE(log->healthy());
  files.failWrites = false;
  const std::string later = nextId();
  commit(propose(later));
  EXPECT_TRUE(exists(later));
  EXPECT_TRUE(log->healthy());
  EXPECT_TRUE(check().intact());
  EXPECT_EQ(recorded(), 1U);
}

TEST_F(WriterTest, D7_FailedSyncOfTheAuditRollsBack) {
  for (const int which : {1, 2}) {
    const std::string refused = nextId();
    files.failSyncIn = which;
    EXPECT_EQ(auditFault(writer->runBatch({propose(refused)}).errors[0]), AuditFault::kWrite);
    EXPECT_FALSE(exists(refused));
  }
  commit(propose(nextId()));
  EXPECT_TRUE(check().intact());
}

TEST_F(WriterTest, C12_FullStateIsUnavailableAndHeals) {
  // A page limit is what SQLite itself calls full.
  const auto limit = [this](int pages) {
    sqlite3_exec(database->handle(), ("PRAGMA max_page_count=" + std::to_string(pages)).c_str(), nullptr,
                 nullptr, nullptr);
  };
  limit(1);
  std::vector<Mutation> batch;
  for (int i = 0; i < 300; ++i) batch.push_back(propose(nextId()));
  BatchResult result = writer->runBatch(batch);
  EXPECT_LT(result.committed, 300U);
  EXPECT_EQ(faultOf([&] { std::rethrow_exception(result.errors[299]); }), StateFault::kFull);
  limit(1'000'000);
  const std::string later = nextId();
  commit(propose(later));
  EXPECT_TRUE(exists(later));
  EXPECT_TRUE(check().intact());
}

TEST_F(WriterTest, MutationsWithoutRecordsWriteNoAudit) {
  files.syncs = 0;
  commit([](Transaction& transaction) { MetaTable(transaction.database()).raise(Counter::kPolicyRevision); });
  EXPECT_EQ(files.syncs, 0);
  EXPECT_EQ(MetaTable(*database).get(Counter::kPolicyRevision), 1U);
}

TEST_F(WriterTest, AbandonedBatchDoesNotCommitAndItsRecordsAreVoid) {
  CommitGate gate;
  ASSERT_TRUE(gate.abandon());
  const std::string id = nextId();
  std::vector<Mutation> batch{propose(id)};
  const BatchResult result = writer->runBatch(batch, gate);
  EXPECT_EQ(auditFault(result.errors[0]), AuditFault::kTimedOut);
  EXPECT_FALSE(exists(id));
  commit(propose(nextId()));
  EXPECT_EQ(check().voided, 1U);
  CommitGate entered;
  ASSERT_TRUE(entered.enter());
  EXPECT_FALSE(entered.abandon()) << "too late: the commit has begun";
}

class Killer : public audit::FaultPoints {
 public:
  explicit Killer(FaultPoint point) : point_(point) {}
  void arm() { armed_ = true; }
  void reach(FaultPoint point) override {
    if (armed_ && point == point_) ::_exit(42);
  }

 private:
  FaultPoint point_;
  bool armed_ = false;
};

TEST_F(WriterTest, DeathAtEveryPointLeavesStateAndAuditInAgreement) {
  struct Row {
    FaultPoint point;
    bool committed;
    std::uint64_t records;
    std::uint64_t voided;
  };
  for (const Row& row :
       {Row{FaultPoint::kBeforeBegin, false, 0, 0}, Row{FaultPoint::kAfterMutations, false, 0, 0},
        Row{FaultPoint::kBeforeAuditWrite, false, 0, 0}, Row{FaultPoint::kAfterAuditWrite, false, 1, 1},
        Row{FaultPoint::kAfterAuditSync, false, 1, 1}, Row{FaultPoint::kAfterHeadWrite, false, 1, 1},
        Row{FaultPoint::kAfterHeadSync, false, 1, 1}, Row{FaultPoint::kBeforeCommit, false, 1, 1},
        Row{FaultPoint::kAfterCommit, true, 1, 0}}) {
    const audit::Verdict before = check();
    const std::string id = nextId();
    close();
    const pid_t child = ::fork();
    if (child == 0) {
      Killer killer(row.point);
      open(&killer);
      killer.arm();
      writer->runBatch({propose(id)});
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const int point = static_cast<int>(row.point);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << point;
    open();
    EXPECT_EQ(exists(id), row.committed) << point;
    const audit::Verdict after = check();
    EXPECT_TRUE(after.intact()) << point << ": " << nameOf(after.breach);
    EXPECT_EQ(after.records - before.records, row.records) << point;
    EXPECT_EQ(after.voided - before.voided, row.voided) << point;
  }
}

TEST_F(WriterTest, I7_CanariesInEveryFieldReachNoFile) {
  // The types refuse them, so what is left is what a mistake could pass: a label that is none.
  const std::string canary = "s3cret canary/../x";
  EXPECT_THROW(Label::of(canary), audit::InvalidLabel);
  const std::string id = nextId();
  EXPECT_THROW(commit([&](Transaction& transaction) {
                 ActionRow row = actionOf(id);
                 ActionTable(transaction.database()).insert(row);
                 audit::Record record = recordOf(canary);
                 transaction.audit(record);
               }),
               AuditUnavailable);
  EXPECT_FALSE(exists(id));
  close();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(home.path())) {
    if (entry.is_regular_file()) {
      EXPECT_EQ(testing::readFile(entry.path()).find("s3cret"), std::string::npos) << entry.path();
    }
  }
}

}  // namespace
}  // namespace factionos::state
