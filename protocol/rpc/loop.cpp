#include "protocol/rpc/loop.h"

#include <signal.h>

#include <kj/debug.h>

#include "protocol/rpc/event_port.h"
#include "protocol/rpc/io_provider.h"
#include "protocol/rpc/signals.h"

namespace factionos::rpc {
namespace {

// Turns of KJ's queue between two looks at I/O. Without a bound a peer whose messages keep the queue full
// would starve every other descriptor and all timers; a look costs about one epoll_wait.
constexpr unsigned kBusyPollInterval = 64;

}  // namespace

// In the order of dependence: each member is gone before what it stands on.
struct Loop::Impl {
  Impl()
      : kjLoop(port),
        waitScope(kjLoop),
        provider(port),
        io(kj::newAsyncIoProvider(provider)),
        signals(port.pollSet()) {
    port.attach(kjLoop);
    waitScope.setBusyPollInterval(kBusyPollInterval);
  }
  // Calls that a lost peer has under way end here, while messages can still be written: the RPC system crashes
  // (0.9.2 at least) when one of them ends with the event loop itself.
  ~Impl() { waitScope.cancelAllDetached(); }

  UvEventPort port;
  kj::EventLoop kjLoop;
  kj::WaitScope waitScope;
  IoProvider provider;
  kj::Own<kj::AsyncIoProvider> io;
  Signals signals;
};

Loop::Loop(Diagnostics diagnostics) {
  if (diagnostics == Diagnostics::kQuiet) quiet_.emplace();
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  KJ_SYSCALL(sigaction(SIGPIPE, &ignore, nullptr));
  impl_ = std::make_unique<Impl>();
}

Loop::~Loop() noexcept(false) = default;

kj::WaitScope& Loop::waitScope() {
  return impl_->waitScope;
}
kj::Timer& Loop::timer() {
  return impl_->port.timer();
}
kj::AsyncIoProvider& Loop::io() {
  return *impl_->io;
}
kj::LowLevelAsyncIoProvider& Loop::lowLevel() {
  return impl_->provider;
}
IoProvider& Loop::provider() {
  return impl_->provider;
}
uint64_t Loop::droppedLogLines() const {
  return quiet_ ? quiet_->dropped() : 0;
}

kj::Promise<void> Loop::queue(std::shared_ptr<BlockingJob> job) {
  return queueBlocking(impl_->port, std::move(job));
}

void Loop::startBlockingPool() {
  startBlockingThreads(impl_->port);
}

kj::Promise<int> Loop::onSignal(int signal) {
  return impl_->signals.next(signal);
}

kj::Promise<void> Loop::waitReadable(int fd) {
  return kj::evalNow([this, fd]() {
    auto watch = kj::heap<FdWatch>(impl_->port.pollSet(), fd);
    auto readable = watch->whenReadable();
    return readable.attach(kj::mv(watch));
  });
}

}  // namespace factionos::rpc
