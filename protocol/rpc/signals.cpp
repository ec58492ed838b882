#include "protocol/rpc/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <kj/debug.h>

namespace factionos::rpc {
namespace {

// Sent from outside, and of use to a service. The rest either can't be blocked or report a fault of this very
// thread.
bool takesSignal(int signal) {
  switch (signal) {
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
    case SIGCHLD:
    case SIGUSR1:
    case SIGUSR2:
    case SIGWINCH:
      return true;
    default:
      return false;
  }
}

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

OwnFd blockAndOpen(const sigset_t& set, sigset_t& before) {
  KJ_REQUIRE(pthread_sigmask(SIG_BLOCK, &set, &before) == 0);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  const int error = errno;
  if (fd < 0) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    KJ_FAIL_SYSCALL("signalfd", error);
  }
  return OwnFd(fd);
}

bool takeOne(int fd) {
  signalfd_siginfo info{};
  ssize_t count = -1;
  do {
    count = read(fd, &info, sizeof(info));
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) return false;
  KJ_ASSERT(count == static_cast<ssize_t>(sizeof(info)), "short read of a signal");
  return true;
}

}  // namespace

struct Signals::Source {
  Source(PollSet& set, int number)
      : signal(number), set_(only(number)), fd(blockAndOpen(set_, before_)), watch(set, fd.get()) {}

  ~Source() noexcept {
    // What came after the last wait was meant for the loop; unblocked, it could end the process.
    kj::runCatchingExceptions([this]() {
      while (takeOne(fd.get())) {
      }
    });
    if (sigismember(&before_, signal) == 0) pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
  }
  KJ_DISALLOW_COPY(Source);

  const int signal;

 private:
  sigset_t set_;
  sigset_t before_{};

 public:
  OwnFd fd;
  FdWatch watch;
};

Signals::Signals(PollSet& set) : set_(set) {}
Signals::~Signals() noexcept = default;

kj::Promise<int> Signals::next(int signal) {
  KJ_REQUIRE(takesSignal(signal), "this signal is not taken by descriptor", signal);
  auto& source = sources_[signal];
  if (source == nullptr) source = std::make_unique<Source>(set_, signal);
  return read(*source);
}

kj::Promise<int> Signals::read(Source& source) {
  if (takeOne(source.fd.get())) return source.signal;
  return source.watch.whenReadable().then([this, &source]() { return read(source); });
}

}  // namespace factionos::rpc
