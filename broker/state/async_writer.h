#pragma once

#include <memory>

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include "broker/state/writer.h"

namespace factionos::state {

// Runs a closure on another thread, one after the other or not, and resolves on the loop's thread when it has
// returned. The RPC loop's blocking pool is one.
using BlockingExecutor = kj::Function<kj::Promise<void>(kj::Function<void()>)>;

// How a commit ended, as a value: a kj::Exception could not keep the type.
class [[nodiscard]] CommitOutcome {
 public:
  CommitOutcome() = default;
  explicit CommitOutcome(std::exception_ptr error) : error_(std::move(error)) {}

  bool committed() const { return error_ == nullptr; }
  // Throws what the mutation threw, or AuditUnavailable or StateUnavailable of its batch.
  void orThrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

// The writer as the loop's thread sees it. What is submitted while a batch is under way forms the next batch,
// so that concurrent requests share one sync. Mutations run in the order of submission.
class AsyncWriter {
 public:
  // `writer` and `timer` outlive it and every batch that it handed to `executor`. `deadline`: how long a
  // submitter waits before it is told AuditUnavailable/kTimedOut (its change won't happen) or
  // StateUnavailable/kTimedOut (the commit itself hangs: whether it happened isn't known).
  AsyncWriter(Writer& writer, BlockingExecutor executor, kj::Timer& timer,
              kj::Duration deadline = 10 * kj::SECONDS);
  ~AsyncWriter() noexcept(false);

  // Resolves when the change is durable or won't be; it does not reject. Dropping the promise does not undo
  // the change.
  kj::Promise<CommitOutcome> commit(Mutation mutation);

  // Mutations that wait or run.
  std::size_t pending() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace factionos::state
