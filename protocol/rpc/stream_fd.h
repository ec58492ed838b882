// A byte stream on one descriptor, with descriptor passing where it is a unix socket.
#pragma once

#include <sys/types.h>

#include <kj/async-io.h>
#include <kj/time.h>
#include <kj/timer.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/poll_set.h"

namespace factionos::rpc {

/// What the descriptor is, which decides the system calls: sockets take sendmsg and recvmsg, the rest read
/// and writev. A kSocket that proves to be none becomes a kTerminal: no other duplex descriptor is wrapped by
/// anybody.
enum class FdKind { kSocket, kOther, kTerminal };

/// How long a write may make no progress at all before it fails with DISCONNECTED and kWriteStalled as
/// description.
struct WriteStall {
  kj::Timer& timer;
  kj::Duration limit;
};

/// The description, whole, of the exception that a stalled write fails with.
inline constexpr kj::StringPtr kWriteStalled = "the peer does not read"_kj;

/// Wraps a descriptor number per kj::LowLevelAsyncIoProvider::Flags. Not movable; buffers and descriptors
/// that are handed to a pending operation must live until its promise resolves or is dropped, as KJ's
/// interfaces say.
///  - What a peer sends beyond the room for descriptors is closed, by the kernel or here.
///  - Descriptors arrive with close-on-exec set.
///  - A lost peer is a DISCONNECTED exception on write; on read it is the end of the stream, or DISCONNECTED
///  if it left
///    data of ours unread.
///  - A pty master or tty wrapped as a socket works too: EIO on read, which a hung-up terminal gives, is the
///  end.
class StreamFd final : public kj::AsyncCapabilityStream {
 public:
  StreamFd(PollSet& set, int fd, unsigned flags, FdKind kind, kj::Maybe<WriteStall> stall = kNone);
  ~StreamFd() noexcept(false);
  KJ_DISALLOW_COPY(StreamFd);

  kj::Promise<size_t> tryRead(void* buffer, size_t minBytes, size_t maxBytes) override;
  kj::Promise<ReadResult> tryReadWithFds(void* buffer, size_t minBytes, size_t maxBytes, OwnFd* fdBuffer,
                                         size_t maxFds) override;
  kj::Promise<ReadResult> tryReadWithStreams(void* buffer, size_t minBytes, size_t maxBytes,
                                             kj::Own<kj::AsyncCapabilityStream>* streamBuffer,
                                             size_t maxStreams) override;

  kj::Promise<void> write(const void* buffer, size_t size) override;
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override;
  kj::Promise<void> writeWithFds(kj::ArrayPtr<const kj::byte> data,
                                 kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> moreData,
                                 kj::ArrayPtr<const int> fds) override;
  /// The streams must be of this class.
  kj::Promise<void> writeWithStreams(kj::ArrayPtr<const kj::byte> data,
                                     kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> moreData,
                                     kj::Array<kj::Own<kj::AsyncCapabilityStream>> streams) override;
  kj::Promise<void> whenWriteDisconnected() override;

  void shutdownWrite() override;
  void abortRead() override;
  void getsockopt(int level, int option, void* value, unsigned* length) override;
  void setsockopt(int level, int option, const void* value, unsigned length) override;
  void getsockname(struct sockaddr* addr, unsigned* length) override;
  void getpeername(struct sockaddr* addr, unsigned* length) override;
  kj::Maybe<int> getFd() const override { return fd_; }

  /// For a socket whose connect() is under way: resolves when it is connected, or fails with the reason.
  kj::Promise<void> whenConnected();

 private:
  struct Reading;
  struct Writing;

  kj::Promise<ReadResult> readOn(Reading reading);
  ssize_t readOnce(Reading& reading);
  ssize_t receive(Reading& reading);
  kj::Promise<void> writeOn(Writing writing);
  ssize_t writeOnce(const Writing& writing);
  kj::Promise<void> whenWritable();

  const int fd_;
  OwnFd owned_;  // empty if the caller keeps the descriptor
  FdKind kind_;
  PollSet& set_;
  kj::Maybe<WriteStall> stall_;
  FdWatch watch_;  // after owned_: leaves the set before the descriptor closes
  kj::Maybe<kj::ForkedPromise<void>> hungUp_;
};

/// Sets O_NONBLOCK, and close-on-exec where ownership passes, unless `flags` says that it is done.
void prepareFd(int fd, unsigned flags);

}  // namespace factionos::rpc
