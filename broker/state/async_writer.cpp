#include "broker/state/async_writer.h"

#include <deque>
#include <utility>
#include <vector>

namespace factionos::state {
namespace {

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

  void startIfIdle() {
    if (!running_.empty() || waiting_.empty()) return;
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
    for (std::size_t i = 0; i < done.size(); ++i) done[i]->answer->fulfill(CommitOutcome(errors[i]));
    // The task that runs this very function must not be replaced by the next one under its feet.
    next_ = kj::evalLater([this]() { startIfIdle(); }).eagerlyEvaluate(nullptr);
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
  core_->startIfIdle();
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
