// An edge-triggered epoll set of our own. The loop sees one descriptor, the set's; what becomes ready inside
// it turns into fulfilled promises and never into a callback that runs foreign code.
#pragma once

#include <cstdint>
#include <unordered_map>

#include <kj/async.h>

#include "protocol/rpc/compat.h"

namespace factionos::rpc {

class FdWatch;

/// Owned by the event port; used by its thread alone.
class PollSet {
 public:
  /// Throws if epoll_create1 fails.
  PollSet();
  ~PollSet() noexcept(false);
  KJ_DISALLOW_COPY(PollSet);

  /// The set's own descriptor, readable while something in it is ready. Borrowed.
  [[nodiscard]] int fd() const { return epoll_.get(); }

  /// Takes what is ready and fulfils the promises that wait for it; returns when nothing is left or after a
  /// fixed number of events, so that a busy peer can't keep the loop here. Never runs a continuation.
  void dispatch();

 private:
  friend class FdWatch;

  uint64_t add(FdWatch& watch, int fd, uint32_t events);
  void modify(uint64_t token, int fd, uint32_t events);
  void remove(uint64_t token, int fd);

  OwnFd epoll_;
  // Events carry a token and not a pointer: an event for a watch that is gone finds nothing.
  std::unordered_map<uint64_t, FdWatch*> watches_;
  uint64_t lastToken_ = 0;
};

/// Readiness of one descriptor, which is borrowed and must stay open as long as the watch. It enters the set
/// when somebody first waits, so a descriptor that never blocks (a file) costs nothing. One watch per
/// descriptor number.
class FdWatch {
 public:
  FdWatch(PollSet& set, int fd) : set_(set), fd_(fd) {}
  ~FdWatch() noexcept;
  KJ_DISALLOW_COPY(FdWatch);

  /// Resolves at the next edge: call it after a read that answered EAGAIN. On a descriptor that is readable
  /// when it enters the set it resolves as well. One waiter at a time (a dropped one makes room); a second
  /// throws.
  kj::Promise<void> whenReadable();

  /// The same for writing. Interest in writability lasts only while somebody waits.
  kj::Promise<void> whenWritable();

  /// Resolves when the other side is wholly gone (EPOLLHUP or EPOLLERR), also if that has happened before.
  kj::Promise<void> whenHungUp();

 private:
  friend class PollSet;
  using Waiter = kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>>;

  kj::Promise<void> wait(Waiter& waiter);
  void want(uint32_t events);
  void ready(uint32_t events);

  PollSet& set_;
  int fd_;
  uint64_t token_ = 0;   // 0: not in the set
  uint32_t events_ = 0;  // as registered
  bool hungUp_ = false;
  Waiter reader_;
  Waiter writer_;
  Waiter hangup_;
};

}  // namespace factionos::rpc
