#include "broker/state/async_writer.h"

#include <deque>

#include <kj/async-io.h>
#include <kj/thread.h>

#include "broker/state/meta_table.h"
#include "tests/unit/state/state_fixture.h"

namespace factionos::state {
namespace {

// Runs closures when the test says so, on the test's own thread: what a pool thread does, without one.
class ManualExecutor {
 public:
  BlockingExecutor face() {
    return [this](kj::Function<void()> work) {
      auto promise = kj::newPromiseAndFulfiller<void>();
      jobs_.push_back(Job{kj::mv(work), kj::mv(promise.fulfiller)});
      return kj::mv(promise.promise);
    };
  }
  std::size_t waiting() const { return jobs_.size(); }
  void runOne() {
    Job job = kj::mv(jobs_.front());
    jobs_.pop_front();
    job.work();
    job.done->fulfill();
  }

 private:
  struct Job {
    kj::Function<void()> work;
    kj::Own<kj::PromiseFulfiller<void>> done;
  };
  std::deque<Job> jobs_;
};

class AsyncWriterTest : public StateTest {
 protected:
  Mutation propose(std::string id) {
    return [id = std::move(id)](Transaction& transaction) {
      ActionRow row = actionOf(id);
      ActionTable(transaction.database()).insert(row);
      transaction.audit(recordOf(id));
    };
  }

  // Held by pointer: destructors of KJ may throw, those of a test may not.
  struct Loop {
    kj::AsyncIoContext io = kj::setupAsyncIo();
    kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
    ManualExecutor executor;
  };
  std::unique_ptr<Loop> loop = std::make_unique<Loop>();
  kj::AsyncIoContext& io = loop->io;
  kj::TimerImpl& timer = loop->timer;
  ManualExecutor& executor = loop->executor;
};

TEST_F(AsyncWriterTest, WhatArrivesDuringABatchSharesTheNext) {
  AsyncWriter async(*writer, executor.face(), timer);
  std::vector<kj::Promise<CommitOutcome>> promises;
  promises.push_back(async.commit(propose(ids.next(IdKind::kAction))));
  io.waitScope.poll();
  for (int i = 0; i < 30; ++i) promises.push_back(async.commit(propose(ids.next(IdKind::kAction))));
  EXPECT_EQ(async.pending(), 31U);
  files.syncs = 0;
  ASSERT_EQ(executor.waiting(), 1U) << "one batch at a time";
  executor.runOne();
  EXPECT_EQ(files.syncs, 2);
  EXPECT_TRUE(promises[0].wait(io.waitScope).committed());
  io.waitScope.poll();
  ASSERT_EQ(executor.waiting(), 1U);
  executor.runOne();
  EXPECT_EQ(files.syncs, 4) << "thirty callers, one sync of the log and one of the head";
  for (std::size_t i = 1; i < promises.size(); ++i) EXPECT_TRUE(promises[i].wait(io.waitScope).committed());
  EXPECT_EQ(ActionTable(*database).count(ActionState::kProposed), 31U);
}

TEST_F(AsyncWriterTest, WhatArrivesAtOnceSharesOneBatch) {
  AsyncWriter async(*writer, executor.face(), timer);
  std::vector<kj::Promise<CommitOutcome>> promises;
  for (int i = 0; i < 5; ++i) promises.push_back(async.commit(propose(ids.next(IdKind::kAction))));
  files.syncs = 0;
  io.waitScope.poll();
  executor.runOne();
  EXPECT_EQ(files.syncs, 2);
  for (auto& promise : promises) EXPECT_TRUE(promise.wait(io.waitScope).committed());
}

// Each of two submitters asks again when it has been answered, as clients do.
class GatheringTest : public AsyncWriterTest {
 protected:
  void submit() { promises->push_back(async->commit(propose(ids.next(IdKind::kAction)))); }
  void pass(kj::Duration time) {
    timer.advanceTo(timer.now() + time);
    io.waitScope.poll();
  }
  // One submitter's batch is under way, the other waits.
  void takeTurns() {
    submit();
    io.waitScope.poll();
    submit();
    timer.advanceTo(timer.now() + 10 * kj::MILLISECONDS);
    executor.runOne();
    io.waitScope.poll();
  }

  void SetUp() override {
    AsyncWriterTest::SetUp();
    async = std::make_unique<AsyncWriter>(*writer, executor.face(), timer);
  }

  // By pointer: see Loop.
  std::unique_ptr<AsyncWriter> async;
  std::unique_ptr<std::vector<kj::Promise<CommitOutcome>>> promises =
      std::make_unique<std::vector<kj::Promise<CommitOutcome>>>();
};

TEST_F(GatheringTest, WaitsForWhoWasAnsweredAndStartsWithTheLast) {
  takeTurns();
  EXPECT_EQ(executor.waiting(), 0U) << "the one that was answered may be back in a moment";
  pass(4 * kj::MILLISECONDS);
  EXPECT_EQ(executor.waiting(), 0U);
  submit();
  EXPECT_EQ(executor.waiting(), 1U);
  EXPECT_EQ(async->pending(), 2U);
}

TEST_F(GatheringTest, WaitsNoLongerThanHalfABatch) {
  takeTurns();
  pass(5 * kj::MILLISECONDS);
  EXPECT_EQ(executor.waiting(), 1U);
}

TEST_F(GatheringTest, DoesNotWaitAgainSoonAfterItWasInVain) {
  takeTurns();
  pass(5 * kj::MILLISECONDS);
  submit();
  timer.advanceTo(timer.now() + 10 * kj::MILLISECONDS);
  executor.runOne();
  io.waitScope.poll();
  EXPECT_EQ(executor.waiting(), 1U);
}

TEST_F(GatheringTest, NobodyWaitsAlone) {
  for (int i = 0; i < 3; ++i) {
    submit();
    io.waitScope.poll();
    ASSERT_EQ(executor.waiting(), 1U);
    timer.advanceTo(timer.now() + 10 * kj::MILLISECONDS);
    executor.runOne();
    io.waitScope.poll();
  }
}

// One thread a batch, as a pool would give it.
BlockingExecutor threads() {
  return [](kj::Function<void()> work) {
    auto promise = kj::newPromiseAndCrossThreadFulfiller<void>();
    auto thread = kj::heap<kj::Thread>([work = kj::mv(work), done = kj::mv(promise.fulfiller)]() mutable {
      work();
      done->fulfill();
    });
    return promise.promise.attach(kj::mv(thread));
  };
}

TEST_F(AsyncWriterTest, WorksOverARealThread) {
  AsyncWriter async(*writer, threads(), timer);
  std::vector<kj::Promise<CommitOutcome>> promises;
  int ran = 0;
  for (int i = 0; i < 60; ++i) {
    Mutation mutation = [&ran, inner = propose(ids.next(IdKind::kAction))](Transaction& transaction) {
      inner(transaction);
      ++ran;
    };
    promises.push_back(async.commit(std::move(mutation)));
  }
  for (auto& promise : promises) EXPECT_TRUE(promise.wait(io.waitScope).committed());
  EXPECT_EQ(ran, 60);
  EXPECT_TRUE(check().intact());
  EXPECT_EQ(check().records, 60U);
}

TEST_F(AsyncWriterTest, ErrorsKeepTheirTypeAndReachTheirOwnCaller) {
  AsyncWriter async(*writer, executor.face(), timer);
  auto first = async.commit([](Transaction&) { throw std::out_of_range("stale"); });
  io.waitScope.poll();
  executor.runOne();
  EXPECT_THROW(first.wait(io.waitScope).orThrow(), std::out_of_range);
  io.waitScope.poll();
  auto second = async.commit(propose(ids.next(IdKind::kAction)));
  io.waitScope.poll();
  executor.runOne();
  EXPECT_NO_THROW(second.wait(io.waitScope).orThrow());
}

TEST_F(AsyncWriterTest, D8_StuckDiskTimesOutAndNothingIsDone) {
  AsyncWriter async(*writer, executor.face(), timer, 2 * kj::SECONDS);
  const std::string running = ids.next(IdKind::kAction);
  const std::string queued = ids.next(IdKind::kAction);
  auto first = async.commit(propose(running));
  io.waitScope.poll();
  auto second = async.commit(propose(queued));
  timer.advanceTo(timer.now() + 3 * kj::SECONDS);
  EXPECT_THROW(first.wait(io.waitScope).orThrow(), audit::AuditUnavailable);
  EXPECT_THROW(second.wait(io.waitScope).orThrow(), audit::AuditUnavailable);
  executor.runOne();  // the disk answers at last
  io.waitScope.poll();
  EXPECT_EQ(executor.waiting(), 0U) << "the one that waited is gone";
  EXPECT_FALSE(ActionTable(*database).find(running));
  EXPECT_FALSE(ActionTable(*database).find(queued));
  const std::string later = ids.next(IdKind::kAction);
  auto third = async.commit(propose(later));
  io.waitScope.poll();
  executor.runOne();
  EXPECT_TRUE(third.wait(io.waitScope).committed());
  EXPECT_TRUE(ActionTable(*database).find(later));
}

TEST_F(AsyncWriterTest, DroppedPromiseStillCommits) {
  AsyncWriter async(*writer, executor.face(), timer);
  const std::string id = ids.next(IdKind::kAction);
  { auto dropped = async.commit(propose(id)); }
  io.waitScope.poll();
  executor.runOne();
  io.waitScope.poll();
  EXPECT_TRUE(ActionTable(*database).find(id));
  EXPECT_EQ(async.pending(), 0U);
}

TEST_F(AsyncWriterTest, EndOfTheWriterAnswersWhoStillWaits) {
  auto async = std::make_unique<AsyncWriter>(*writer, executor.face(), timer);
  auto first = async->commit(propose(ids.next(IdKind::kAction)));
  io.waitScope.poll();
  auto second = async->commit(propose(ids.next(IdKind::kAction)));
  async.reset();
  EXPECT_THROW(first.wait(io.waitScope).orThrow(), StateUnavailable);
  EXPECT_THROW(second.wait(io.waitScope).orThrow(), audit::AuditUnavailable);
}

}  // namespace
}  // namespace factionos::state
