// Messages as they come off one line: as many at once as one read brings, so that a peer that sends many
// small ones costs a system call for all of them and not two for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include <capnp/serialize-async.h>
#include <kj/array.h>
#include <kj/async.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/stream_fd.h"

namespace factionos::rpc {

class FrameReader {
 public:
  /// `stream` outlives this object. `fdsPerMessage`: descriptors taken from one read; the rest is closed.
  FrameReader(StreamFd& stream, size_t fdsPerMessage);
  KJ_DISALLOW_COPY(FrameReader);

  /// The next message, and the descriptors that came with it as far as `fdSpace` has room; nothing at the end
  /// of the stream. Throws what no message begins with, or one above the limits of `options`. One at a time.
  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> read(kj::ArrayPtr<OwnFd> fdSpace,
                                                          capnp::ReaderOptions options);

 private:
  using Incoming = kj::Maybe<capnp::MessageReaderAndFds>;

  /// Bytes of the message that begins at the front of the buffer, its segment table with them; nothing while
  /// the table is not whole.
  [[nodiscard]] kj::Maybe<size_t> frameBytes(const capnp::ReaderOptions& options) const;
  kj::Promise<Incoming> take(size_t bytes, kj::ArrayPtr<OwnFd> fdSpace, capnp::ReaderOptions options);
  size_t takeFds(uint64_t frameEnd, kj::ArrayPtr<OwnFd> fdSpace);
  kj::Promise<size_t> fill();
  [[nodiscard]] size_t have() const { return end_ - begin_; }

  /// The kernel ends a read behind the bytes that descriptors were sent with, and a message is sent in a call
  /// of its own if it has any: so they belong to the last message that begins before that end.
  struct Arrived {
    uint64_t end;  // as an offset in the stream
    kj::Array<OwnFd> fds;
  };

  StreamFd& stream_;
  kj::Array<kj::byte> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;  // of buffer_[begin_] in the stream
  kj::Array<OwnFd> fdRoom_;
  std::deque<Arrived> arrived_;
};

}  // namespace factionos::rpc
