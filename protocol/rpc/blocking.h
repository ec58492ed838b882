// Blocking work on libuv's thread pool.
#pragma once

#include <memory>
#include <utility>

#include <kj/async.h>
#include <kj/common.h>
#include <kj/debug.h>
#include <kj/exception.h>

#include "protocol/rpc/compat.h"

namespace factionos::rpc {

class UvEventPort;

/// One job: run() is called once, on a thread of the pool, and must not throw; construction and destruction
/// happen on the loop's thread.
class BlockingJob {
 public:
  BlockingJob() = default;
  virtual ~BlockingJob() noexcept(false) = default;
  KJ_DISALLOW_COPY(BlockingJob);
  virtual void run() noexcept = 0;
};

/// Queues a job. The promise resolves on the loop's thread when it has run. Dropping the promise takes a job
/// that has not started out of the queue; one that runs goes on, keeps itself alive, and nobody hears of it.
kj::Promise<void> queueBlocking(UvEventPort& port, std::shared_ptr<BlockingJob> job);

/// Creates the pool's threads, all of them, if they do not exist yet. They have every signal blocked.
void startBlockingThreads(UvEventPort& port);

/// Runs `body` where no KJ loop exists and gives back what it threw, without a stack trace.
kj::Maybe<kj::Exception> runOnForeignThread(kj::FunctionParam<void()> body) noexcept;

/// A job that keeps what `Func` returned (T, not a reference) or threw.
template <typename Func, typename T>
class TypedBlockingJob final : public BlockingJob {
 public:
  explicit TypedBlockingJob(Func&& func) : func_(kj::mv(func)) {}

  void run() noexcept override {
    failure_ = runOnForeignThread([this]() { value_ = func_(); });
  }

  T take() {
    FACTIONOS_IF_SOME(failure, failure_) {
      kj::throwFatalException(kj::mv(failure));
    }
    return kj::mv(KJ_ASSERT_NONNULL(value_));
  }

 private:
  Func func_;
  kj::Maybe<T> value_;
  kj::Maybe<kj::Exception> failure_;
};

template <typename Func>
class TypedBlockingJob<Func, void> final : public BlockingJob {
 public:
  explicit TypedBlockingJob(Func&& func) : func_(kj::mv(func)) {}

  void run() noexcept override {
    failure_ = runOnForeignThread([this]() { func_(); });
  }

  void take() {
    FACTIONOS_IF_SOME(failure, failure_) {
      kj::throwFatalException(kj::mv(failure));
    }
  }

 private:
  Func func_;
  kj::Maybe<kj::Exception> failure_;
};

}  // namespace factionos::rpc
