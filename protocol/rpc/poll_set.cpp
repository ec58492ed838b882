#include "protocol/rpc/poll_set.h"

#include <array>

#include <sys/epoll.h>

#include <kj/debug.h>

namespace factionos::rpc {
namespace {

constexpr uint32_t kReadEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;
constexpr uint32_t kGone = EPOLLHUP | EPOLLERR;
constexpr size_t kBatch = 64;
constexpr int kBatchesPerDispatch = 4;

bool fulfil(kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>>& waiter) {
  FACTIONOS_IF_SOME(fulfiller, waiter) {
    const bool waited = fulfiller->isWaiting();
    fulfiller->fulfill();
    waiter = kNone;
    return waited;
  }
  return false;
}

}  // namespace

PollSet::PollSet() {
  int fd = -1;
  KJ_SYSCALL(fd = epoll_create1(EPOLL_CLOEXEC));
  epoll_ = OwnFd(fd);
}

PollSet::~PollSet() noexcept(false) {
  KJ_ASSERT(watches_.empty(), "a watch outlives its loop") {
    break;
  }
}

void PollSet::dispatch() {
  std::array<epoll_event, kBatch> events;
  for (int batch = 0; batch < kBatchesPerDispatch; ++batch) {
    int count = -1;
    // A zero timeout does not sleep, so no signal can interrupt it for good.
    KJ_SYSCALL(count = epoll_wait(epoll_.get(), events.data(), int{kBatch}, 0));
    for (const epoll_event& event : kj::arrayPtr(events.data(), static_cast<size_t>(count))) {
      // The kernel's struct is packed, so a reference, such as find() takes, may not bind to its member.
      const uint64_t token = event.data.u64;
      const auto found = watches_.find(token);
      if (found != watches_.end()) found->second->ready(event.events);
    }
    if (static_cast<size_t>(count) < kBatch) return;
  }
}

uint64_t PollSet::add(FdWatch& watch, int fd, uint32_t events) {
  const uint64_t token = ++lastToken_;
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  watches_.emplace(token, &watch);
  KJ_ON_SCOPE_FAILURE(watches_.erase(token));
  KJ_SYSCALL(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event));
  return token;
}

void PollSet::modify(uint64_t token, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  KJ_SYSCALL(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event));
}

void PollSet::remove(uint64_t token, int fd) {
  watches_.erase(token);
  // Fails only if the owner closed the descriptor too early; the erased token keeps that harmless.
  epoll_event unused{};
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &unused);
}

FdWatch::~FdWatch() noexcept {
  if (token_ != 0) set_.remove(token_, fd_);
}

kj::Promise<void> FdWatch::whenReadable() {
  auto promise = wait(reader_);
  want(kReadEvents);
  return promise;
}

kj::Promise<void> FdWatch::whenWritable() {
  auto promise = wait(writer_);
  // Asking anew makes the kernel look again, so a descriptor that became writable in between is not missed.
  want(kReadEvents | EPOLLOUT);
  return promise;
}

kj::Promise<void> FdWatch::whenHungUp() {
  if (hungUp_) return kj::READY_NOW;
  auto promise = wait(hangup_);
  want(kReadEvents);
  return promise;
}

kj::Promise<void> FdWatch::wait(Waiter& waiter) {
  FACTIONOS_IF_SOME(current, waiter) {
    KJ_REQUIRE(!current->isWaiting(), "somebody waits for this descriptor already");
  }
  auto paf = kj::newPromiseAndFulfiller<void>();
  waiter = kj::mv(paf.fulfiller);
  return kj::mv(paf.promise);
}

void FdWatch::want(uint32_t events) {
  if (token_ == 0) {
    token_ = set_.add(*this, fd_, events);
  } else if ((events & ~events_) != 0) {
    set_.modify(token_, fd_, events | events_);
  } else {
    return;
  }
  events_ |= events;
}

void FdWatch::ready(uint32_t events) {
  if ((events & kGone) != 0) {
    hungUp_ = true;
    fulfil(hangup_);
  }
  if ((events & (EPOLLIN | EPOLLRDHUP | kGone)) != 0) fulfil(reader_);
  if ((events & (EPOLLOUT | kGone)) == 0) return;
  // Interest lapses one unwanted event later than need be: a writer that keeps filling the buffer pays no
  // epoll_ctl.
  if (!fulfil(writer_) && (events_ & EPOLLOUT) != 0) {
    set_.modify(token_, fd_, kReadEvents);
    events_ = kReadEvents;
  }
}

}  // namespace factionos::rpc
