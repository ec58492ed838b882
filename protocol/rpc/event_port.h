// KJ's event port on libuv. KJ is outermost: it runs its own queue and calls in here only to wait, so no
// continuation ever runs below a libuv callback.
#pragma once

#include <atomic>
#include <exception>
#include <utility>

#include <uv.h>

#include <kj/async.h>
#include <kj/time.h>
#include <kj/timer.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/poll_set.h"

namespace factionos::rpc {

/// Owns the uv_loop_t. Must be created before the kj::EventLoop that it serves, told of it by attach(), and
/// destroyed after it. One thread, but for wake().
class UvEventPort final : public kj::EventPort {
 public:
  /// Throws if libuv or epoll can't be set up.
  UvEventPort();
  /// Waits for jobs that the thread pool is running.
  ~UvEventPort() noexcept(false);
  KJ_DISALLOW_COPY(UvEventPort);

  void attach(kj::EventLoop& loop) { kjLoop_ = &loop; }

  uv_loop_t& uv() { return loop_; }
  PollSet& pollSet() { return pollSet_; }
  kj::Timer& timer() { return timer_; }
  /// False once destruction has begun: then no promise may be touched any more.
  [[nodiscard]] bool live() const { return kjLoop_ != nullptr; }
  /// Whether this loop has used the thread pool before; says yes from the second call on.
  bool usedThreadPool() { return std::exchange(usedThreadPool_, true); }

  bool wait() override;
  bool poll() override;
  void wake() const override;

 private:
  void run(uv_run_mode mode);
  void advanceClock();
  void armTimer();
  void keep(std::exception_ptr failure) noexcept;
  static void onPollSetReady(uv_poll_t* handle, int status, int events) noexcept;
  static void onPrepare(uv_prepare_t* handle) noexcept;
  static void onTimer(uv_timer_t* handle) noexcept;

  PollSet pollSet_;  // first, so that its descriptor closes after libuv has let go of it
  const kj::MonotonicClock& clock_;
  kj::TimerImpl timer_;
  kj::EventLoop* kjLoop_ = nullptr;
  kj::Maybe<kj::TimePoint> armedFor_;
  bool timerFired_ = false;  // in this run
  std::exception_ptr failure_;
  bool usedThreadPool_ = false;
  mutable std::atomic<bool> woken_{false};

  uv_loop_t loop_{};
  uv_poll_t pollHandle_{};
  uv_prepare_t prepare_{};
  uv_idle_t idle_{};
  uv_timer_t timerHandle_{};
  mutable uv_async_t wakeHandle_{};
};

}  // namespace factionos::rpc
