#include "protocol/rpc/blocking.h"

#include <optional>

#include <pthread.h>
#include <signal.h>
#include <uv.h>

#include <kj/debug.h>
#include <kj/function.h>

#include "protocol/rpc/event_port.h"
#include "protocol/rpc/quiet.h"

namespace factionos::rpc {
namespace {

// The pool's threads inherit the mask of whoever creates them. With every signal blocked there, a signal that
// the loop takes by descriptor can't land on a thread whose default action would end the process.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    KJ_ASSERT(pthread_sigmask(SIG_SETMASK, &all, &before_) == 0);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  KJ_DISALLOW_COPY(AllSignalsBlocked);

 private:
  sigset_t before_{};
};

class QueuedPromise;

// What libuv holds until the after-work callback: it owns the job, and knows the promise only while that
// lives.
struct Request {
  uv_work_t work{};
  std::shared_ptr<BlockingJob> job;
  QueuedPromise* promise = nullptr;
};

void startWork(UvEventPort& port, Request& request) noexcept;

class QueuedPromise {
 public:
  QueuedPromise(kj::PromiseFulfiller<void>& fulfiller, UvEventPort& port, std::shared_ptr<BlockingJob> job)
      : fulfiller_(fulfiller), request_(new Request) {
    request_->job = std::move(job);
    request_->promise = this;
    startWork(port, *request_);
  }

  ~QueuedPromise() {
    if (request_ == nullptr) return;
    request_->promise = nullptr;
    // Refused if the job runs already. Either way the after-work callback comes, and frees the request.
    uv_cancel(reinterpret_cast<uv_req_t*>(&request_->work));
  }
  KJ_DISALLOW_COPY(QueuedPromise);

  void done() {
    request_ = nullptr;
    fulfiller_.fulfill();
  }

 private:
  kj::PromiseFulfiller<void>& fulfiller_;
  Request* request_;
};

void afterWork(uv_work_t* work, int) noexcept {
  const std::unique_ptr<Request> request(static_cast<Request*>(work->data));
  const auto& port = *static_cast<UvEventPort*>(work->loop->data);
  if (request->promise != nullptr && port.live()) request->promise->done();
}

void startWork(UvEventPort& port, Request& request) noexcept {
  request.work.data = &request;
  std::optional<AllSignalsBlocked> blocked;
  if (!port.usedThreadPool()) blocked.emplace();  // the first request creates the threads
  // Fails only for a null callback.
  uv_queue_work(
      &port.uv(), &request.work, [](uv_work_t* work) { static_cast<Request*>(work->data)->job->run(); },
      &afterWork);
}

class EmptyJob final : public BlockingJob {
 public:
  void run() noexcept override {}
};

}  // namespace

kj::Promise<void> queueBlocking(UvEventPort& port, std::shared_ptr<BlockingJob> job) {
  return kj::newAdaptedPromise<void, QueuedPromise>(port, std::move(job));
}

void startBlockingThreads(UvEventPort& port) {
  // Owned by afterWork, which the loop calls at its next turn. libuv creates all threads, and waits until
  // each has started, before the first request is queued.
  auto request = std::make_unique<Request>();
  request->job = std::make_shared<EmptyJob>();
  startWork(port, *request.release());
}

kj::Maybe<kj::Exception> runOnForeignThread(kj::FunctionParam<void()> body) noexcept {
  const QuietKj quiet;
  return kj::runCatchingExceptions([&body]() { body(); });
}

}  // namespace factionos::rpc
