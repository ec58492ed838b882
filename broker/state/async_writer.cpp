#include "broker/state/async_writer.h"

#include <deque>
#include <utility>
#include <vector>

namespace factionos::state {
namespace {

// A timer has no finer grain; where a batch takes less than a few of these, waiting gains nothing.
constexpr kj::Duration kShortestGathering = 1 * kj::MILLISECONDS;
// A disk that hangs for seconds is no reason to wait for seconds more.
constexpr kj::Duration kLongestGathering = 20 * kj::MILLISECONDS;
// How many batches pass before another gathering, after one that was in vain.
constexpr unsigned kAfterVain = 16;
// Calls that came in one read are a few rounds of the loop's queue apart.
constexpr unsigned kQuietRounds = 8;

std::exception_ptr neverDone() {
  return std::make_exception_ptr(audit::AuditUnavailable(
      audit::AuditFault::kTimedOut, "state: the disk did not answer in time; nothing was done"));
}

std::exception_ptr notKnown(const char* what) {
  return std::make_exception_ptr(StateUnavailable(StateFault::kTimedOut, what));
}

// What one batch needs on the other thread. Shared, so that it outlives a loop that does not wait for it.
struct Batch {
  std::vector<Mutation> mutations;
  CommitGate gate;
  BatchResult result;
};

struct Ticket {
  Mutation mutation;  // empty once it is in a batch
  kj::Own<kj::PromiseFulfiller<CommitOutcome>> answer;
  std::shared_ptr<Batch> batch;  // null while it waits
};

}  // namespace

struct AsyncWriter::Core {
  Core(Writer& writer, BlockingExecutor executor, kj::Timer& timer, kj::Duration deadline)
      : writer_(writer), executor_(kj::mv(executor)), timer_(timer), deadline_(deadline) {}

  // The first of several that come at once would have a sync of its own, and all others wait for it: so it
  // waits itself until the loop has nothing more of them.
  void arrived() {
    if (!running_.empty()) return;
    if (waiting_.size() == 1) settled_ = settleDown(1, 0).eagerlyEvaluate(nullptr);
    if (expected_ > 1 && waiting_.size() == expected_) start();
  }

  kj::Promise<void> settleDown(std::size_t seen, unsigned quietRounds) {
    return kj::evalLater([this, seen, quietRounds]() -> kj::Promise<void> {
      const unsigned quiet = waiting_.size() == seen ? quietRounds + 1 : 0;
      if (quiet < kQuietRounds) return settleDown(waiting_.size(), quiet);
      startIfIdle();
      return kj::READY_NOW;
    });
  }

  // Whoever was answered mostly asks again at once. Starting without them makes two groups that take turns,
  // each waiting for the other's sync as well as for its own. So a batch waits for as many as were there when
  // the last one ended, if they come within half of what that one took; where they don't, the two groups keep
  // disk and processors busy at once, and it is not tried again soon.
  void startIfIdle() {
    if (!running_.empty() || waiting_.empty()) return;
    if (waiting_.size() < expected_) {
      if (timer_.now() < gatherUntil_) return;
      vain_ = kAfterVain;
    }
    start();
  }

  void start() {
    began_ = timer_.now();
    auto batch = std::make_shared<Batch>();
    running_.swap(waiting_);
    for (const auto& ticket : running_) {
      batch->mutations.push_back(std::move(ticket->mutation));
      ticket->batch = batch;
    }
    Writer& writer = writer_;
    task_ = executor_([batch, &writer]() { batch->result = writer.runBatch(batch->mutations, batch->gate); })
                .then(
                    [this, batch]() {
                      // What mutations captured belongs to this thread.
                      batch->mutations.clear();
                      settle(batch->result.errors);
                    },
                    [this](kj::Exception&&) {
                      settle(std::vector<std::exception_ptr>(
                          running_.size(),
                          notKnown("state: the writer's thread failed; the outcome isn't known")));
                    })
                .eagerlyEvaluate(nullptr);
  }

  void settle(const std::vector<std::exception_ptr>& errors) {
    std::deque<std::shared_ptr<Ticket>> done;
    done.swap(running_);
    planGathering(done.size() + waiting_.size());
    for (std::size_t i = 0; i < done.size(); ++i) done[i]->answer->fulfill(CommitOutcome(errors[i]));
    // The task that runs this very function must not be replaced by the next one under its feet.
    next_ = kj::evalLater([this]() { startIfIdle(); }).eagerlyEvaluate(nullptr);
  }

  void planGathering(std::size_t submitters) {
    const kj::Duration patience = kj::min((timer_.now() - began_) / 2, kLongestGathering);
    if (vain_ > 0) --vain_;
    expected_ = vain_ > 0 || patience < kShortestGathering ? 0 : submitters;
    if (expected_ <= 1) return;
    gatherUntil_ = timer_.now() + patience;
    gathered_ = timer_.atTime(gatherUntil_).then([this]() { startIfIdle(); }).eagerlyEvaluate(nullptr);
  }

  CommitOutcome expire(const std::shared_ptr<Ticket>& ticket) {
    if (ticket->batch == nullptr) {
      std::erase(waiting_, ticket);
      return CommitOutcome(neverDone());
    }
    if (ticket->batch->gate.abandon()) return CommitOutcome(neverDone());
    return CommitOutcome(notKnown("state: the disk did not answer in time; the outcome isn't known"));
  }

  void close() {
    for (const auto& ticket : waiting_) ticket->answer->fulfill(CommitOutcome(neverDone()));
    for (const auto& ticket : running_) {
      ticket->answer->fulfill(
          CommitOutcome(notKnown("state: stopped while writing; the outcome isn't known")));
    }
    waiting_.clear();
    running_.clear();
  }

  Writer& writer_;
  BlockingExecutor executor_;
  kj::Timer& timer_;
  kj::Duration deadline_;
  std::deque<std::shared_ptr<Ticket>> waiting_;
  std::deque<std::shared_ptr<Ticket>> running_;
  std::size_t expected_ = 0;  // submitters to gather: those that were there when the last batch ended
  unsigned vain_ = 0;         // batches until the next gathering
  kj::TimePoint began_ = kj::origin<kj::TimePoint>();
  kj::TimePoint gatherUntil_ = kj::origin<kj::TimePoint>();
  kj::Promise<void> gathered_ = kj::READY_NOW;
  kj::Promise<void> settled_ = kj::READY_NOW;
  kj::Promise<void> task_ = kj::READY_NOW;
  kj::Promise<void> next_ = kj::READY_NOW;
};

AsyncWriter::AsyncWriter(Writer& writer, BlockingExecutor executor, kj::Timer& timer, kj::Duration deadline)
    : core_(std::make_shared<Core>(writer, kj::mv(executor), timer, deadline)) {}

AsyncWriter::~AsyncWriter() noexcept(false) {
  core_->close();
}

kj::Promise<CommitOutcome> AsyncWriter::commit(Mutation mutation) {
  auto promise = kj::newPromiseAndFulfiller<CommitOutcome>();
  auto ticket = std::make_shared<Ticket>(Ticket{std::move(mutation), kj::mv(promise.fulfiller), nullptr});
  core_->waiting_.push_back(ticket);
  core_->arrived();
  auto late = core_->timer_.afterDelay(core_->deadline_)
                  .then([weak = std::weak_ptr<Core>(core_), ticket]() -> CommitOutcome {
                    const auto core = weak.lock();
                    return core ? core->expire(ticket) : CommitOutcome(neverDone());
                  });
  return promise.promise.exclusiveJoin(kj::mv(late));
}

std::size_t AsyncWriter::pending() const {
  return core_->waiting_.size() + core_->running_.size();
}

}  // namespace factionos::state
