#include "protocol/rpc/event_port.h"

#include <utility>

#include <kj/debug.h>

namespace factionos::rpc {
namespace {

void check(int result, const char* what) {
  KJ_REQUIRE(result == 0, what, uv_err_name(result));
}

// libuv counts milliseconds; a day is far more than any deadline and far from its overflow. The timer is
// armed anew after each wait.
constexpr uint64_t kLongestTimeoutMs = 24ULL * 60 * 60 * 1000;

template <typename Handle>
uv_handle_t* asHandle(Handle& handle) {
  return reinterpret_cast<uv_handle_t*>(&handle);
}

}  // namespace

UvEventPort::UvEventPort() : clock_(kj::systemPreciseMonotonicClock()), timer_(clock_.now()) {
  check(uv_loop_init(&loop_), "uv_loop_init");
  loop_.data = this;
  check(uv_poll_init(&loop_, &pollHandle_, pollSet_.fd()), "uv_poll_init");
  check(uv_prepare_init(&loop_, &prepare_), "uv_prepare_init");
  check(uv_idle_init(&loop_, &idle_), "uv_idle_init");
  check(uv_timer_init(&loop_, &timerHandle_), "uv_timer_init");
  // Stays referenced: a loop without a referenced handle makes uv_run return at once, and wait() would spin.
  check(uv_async_init(&loop_, &wakeHandle_, [](uv_async_t*) {}), "uv_async_init");
  check(uv_poll_start(&pollHandle_, UV_READABLE, &onPollSetReady), "uv_poll_start");
  check(uv_prepare_start(&prepare_, &onPrepare), "uv_prepare_start");
}

UvEventPort::~UvEventPort() noexcept(false) {
  kjLoop_ = nullptr;
  uv_close(asHandle(pollHandle_), nullptr);
  uv_close(asHandle(prepare_), nullptr);
  uv_close(asHandle(idle_), nullptr);
  uv_close(asHandle(timerHandle_), nullptr);
  uv_close(asHandle(wakeHandle_), nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  KJ_ASSERT(uv_loop_close(&loop_) == 0, "a uv handle outlives its loop") {
    break;
  }
}

bool UvEventPort::wait() {
  run(UV_RUN_ONCE);
  return woken_.exchange(false);
}

bool UvEventPort::poll() {
  run(UV_RUN_NOWAIT);
  return woken_.exchange(false);
}

void UvEventPort::wake() const {
  woken_.store(true);
  uv_async_send(&wakeHandle_);
}

void UvEventPort::run(uv_run_mode mode) {
  advanceClock();  // else a deadline that passed while continuations ran would wait for other I/O
  armTimer();
  timerFired_ = false;
  uv_run(&loop_, mode);
  advanceClock();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void UvEventPort::advanceClock() {
  timer_.advanceTo(clock_.now());
}

void UvEventPort::armTimer() {
  const auto next = timer_.nextEvent();
  FACTIONOS_IF_SOME(due, next) {
    FACTIONOS_IF_SOME(armed, armedFor_) {
      if (armed == due) return;
    }
    const auto timeout = timer_.timeoutToNextEvent(clock_.now(), kj::MILLISECONDS, kLongestTimeoutMs);
    uv_update_time(&loop_);  // libuv counts from its cached time, which is as old as the last wait
    FACTIONOS_IF_SOME(milliseconds, timeout) {
      check(uv_timer_start(&timerHandle_, &onTimer, milliseconds, 0), "uv_timer_start");
      armedFor_ = due;
    }
  }
  else if (armedFor_ != kNone) {
    uv_timer_stop(&timerHandle_);
    armedFor_ = kNone;
  }
}

void UvEventPort::keep(std::exception_ptr failure) noexcept {
  if (!failure_) failure_ = std::move(failure);
}

void UvEventPort::onPollSetReady(uv_poll_t* handle, int status, int) noexcept {
  auto& self = *static_cast<UvEventPort*>(handle->loop->data);
  try {
    check(status, "epoll set");
    self.pollSet_.dispatch();
  } catch (...) {
    self.keep(std::current_exception());
  }
}

void UvEventPort::onPrepare(uv_prepare_t* handle) noexcept {
  auto& self = *static_cast<UvEventPort*>(handle->loop->data);
  // An active idle handle makes libuv poll with a timeout of zero. Without it, work that a callback earlier
  // in this very turn made runnable would wait until some descriptor becomes ready. The same for a deadline
  // that passed since the timer was armed: libuv before 1.45 looks at timers first, and would then sleep with
  // none.
  const bool runnable = self.kjLoop_ != nullptr && self.kjLoop_->isRunnable();
  if (runnable || self.timerFired_) {
    uv_idle_start(&self.idle_, [](uv_idle_t*) {});
  } else {
    uv_idle_stop(&self.idle_);
  }
}

void UvEventPort::onTimer(uv_timer_t* handle) noexcept {
  auto& self = *static_cast<UvEventPort*>(handle->loop->data);
  self.armedFor_ = kNone;
  self.timerFired_ = true;
}

}  // namespace factionos::rpc
