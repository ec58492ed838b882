// The event loop of every FactionOS process: KJ promises on libuv.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <kj/async-io.h>
#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include "protocol/rpc/blocking.h"
#include "protocol/rpc/compat.h"
#include "protocol/rpc/quiet.h"

namespace factionos::rpc {

class IoProvider;

/// What KJ does with its log lines and stack traces on the loop's thread while the loop lives.
enum class Diagnostics {
  kQuiet,  ///< as quiet.h says: what every shipped process uses. The Loop must be a local variable then.
  kKj,     ///< left to KJ: standard error. For tests, and for a Loop on the heap.
};

/// A thread's loop. Create it at the top of main() (or of a thread), before the sandbox is entered and after
/// the last fork without exec; destroy it last, when no promise, stream or connection of it is left. One per
/// thread.
///
/// Sets the process's SIGPIPE to ignored, for good. An exec'ed child inherits that, and the mask of signals
/// that onSignal blocked: who starts foreign programs resets both.
///
/// Nothing here throws out of wait() but what the awaited promise failed with, or a broken loop (epoll itself
/// failing).
///
/// System calls after construction: syscalls.h lists them by use, for the policies of sandboxed processes.
/// Neither io_uring nor the environment variable UV_USE_IO_URING makes a difference.
class Loop {
 public:
  /// Throws kj::Exception if epoll, eventfd or libuv can't be set up, if this thread has a loop already, or
  /// if the loop is quiet and not on the stack (KJ finds exception callbacks by stack order).
  explicit Loop(Diagnostics diagnostics = Diagnostics::kQuiet);
  ~Loop() noexcept(false);
  KJ_DISALLOW_COPY(Loop);

  /// For promise.wait(loop.waitScope()), at the top level only.
  kj::WaitScope& waitScope();
  /// Monotonic; resolution 1 ms, never early.
  kj::Timer& timer();
  kj::AsyncIoProvider& io();
  /// Flags as KJ documents them. One wrapped object per descriptor number at a time (dup to wrap twice).
  ///  - wrapSocketFd takes a pty master or terminal as well.
  ///  - a listener survives EMFILE, ENFILE, ENOBUFS and ENOMEM (it tries again after 100 ms) and connections
  ///  that fail
  ///    before they are taken; acceptAuthenticated gives pid and uid of the peer on unix sockets.
  ///  - datagram sockets: UNIMPLEMENTED.
  kj::LowLevelAsyncIoProvider& lowLevel();
  kj::Network& network() { return io().getNetwork(); }

  /// Runs `func` on libuv's thread pool (four threads unless UV_THREADPOOL_SIZE says else, shared by all
  /// loops of the process) and resolves to what it returned or threw. `func` may not touch promises, streams
  /// or anything else of a loop. It is destroyed on this thread. Dropping the promise: a job not yet begun
  /// never runs; one that runs goes on to its end on its own copy of everything, and the result is thrown
  /// away. ~Loop waits for running jobs.
  ///
  /// The first call creates the threads; where a filter forbids clone that aborts the process, so call
  /// startBlockingPool() before entering it.
  template <typename Func>
  kj::Promise<std::invoke_result_t<Func&>> blocking(Func&& func) {
    using Result = std::invoke_result_t<Func&>;
    static_assert(!std::is_reference_v<Result>, "a job returns by value");
    using Job = TypedBlockingJob<std::decay_t<Func>, Result>;
    auto job = std::make_shared<Job>(std::decay_t<Func>(std::forward<Func>(func)));
    auto ran = queue(job);
    return ran.then([job]() -> Result { return job->take(); });
  }

  /// Creates the pool's threads now. They run with every signal blocked.
  void startBlockingPool();

  /// Resolves to `signal` when it has been sent; several that came meanwhile count as one. From the first
  /// call on the signal is blocked on this thread and taken by descriptor, also between two calls, until
  /// ~Loop. Call it before other threads are started (the pool's are safe), else one of those may get the
  /// signal. SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2, SIGWINCH; another throws. One
  /// waiter per signal: a second call throws while the first promise lives. The first call for a signal needs
  /// signalfd4 and rt_sigprocmask: before the sandbox.
  kj::Promise<int> onSignal(int signal);

  /// Resolves once `fd` is readable, at once if it is so already: a listening socket, a pidfd (its process
  /// has ended), an eventfd. The descriptor is borrowed and must stay open until the promise resolves or is
  /// dropped. Fails if it can't be polled (a file) or is waited for or wrapped already.
  kj::Promise<void> waitReadable(int fd);

  /// KJ log lines (warnings and worse) that a quiet loop dropped so far; a number for diagnostics.
  [[nodiscard]] uint64_t droppedLogLines() const;

 private:
  friend class Connection;
  struct Impl;
  IoProvider& provider();
  kj::Promise<void> queue(std::shared_ptr<BlockingJob> job);

  std::optional<QuietKj> quiet_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace factionos::rpc
