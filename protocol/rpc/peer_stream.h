// The message stream of one connection to a peer that may have turned bad: it notes why the connection ended
// and stops reading while the peer leaves too many answers unread.
#pragma once

#include <cstddef>

#include <capnp/serialize-async.h>
#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/disconnect.h"
#include "protocol/rpc/stream_fd.h"

namespace factionos::rpc {

class PeerStream final : public capnp::MessageStream {
 public:
  /// `stream` and `timer` outlive this object. `queuedBytes` tells how much is waiting to be sent; while it
  /// exceeds `maxQueuedBytes` no further message is read.
  PeerStream(StreamFd& stream, kj::Timer& timer, size_t maxQueuedBytes, kj::Function<size_t()> queuedBytes);
  KJ_DISALLOW_COPY(PeerStream);

  kj::Promise<DisconnectCause> onDisconnect() { return disconnected_.addBranch(); }
  [[nodiscard]] bool isDisconnected() const { return cause_ != kNone; }

  /// The first cause counts; later ones are consequences.
  void note(DisconnectCause cause);
  /// Notes kClosedHere, ends both directions; messages that wait in the socket are not read any more.
  void close();

  using MessageStream::tryReadMessage;
  using MessageStream::writeMessage;
  using MessageStream::writeMessages;
  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(
      kj::ArrayPtr<OwnFd> fdSpace, capnp::ReaderOptions options,
      kj::ArrayPtr<capnp::word> scratchSpace) override;
  kj::Promise<void> writeMessage(kj::ArrayPtr<const int> fds,
                                 kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override;
  kj::Promise<void> writeMessages(
      kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override;
  kj::Maybe<int> getSendBufferSize() override { return inner_.getSendBufferSize(); }
  kj::Promise<void> end() override { return inner_.end(); }

 private:
  using Incoming = kj::Maybe<capnp::MessageReaderAndFds>;

  Incoming received(Incoming incoming);
  void inspectIncoming(capnp::MessageReader& message);
  void inspectOutgoing(kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments);
  kj::Promise<void> watchWrite(kj::Promise<void> write);
  void lostPeer();
  void endBothDirections();

  StreamFd& stream_;
  kj::Timer& timer_;
  capnp::AsyncCapabilityMessageStream inner_;
  const size_t maxQueuedBytes_;
  kj::Function<size_t()> queuedBytes_;
  kj::Maybe<DisconnectCause> cause_;
  kj::Own<kj::PromiseFulfiller<DisconnectCause>> ended_;
  kj::ForkedPromise<DisconnectCause> disconnected_ = nullptr;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> readsAgain_;
  bool peerLost_ = false;  // nothing more can be written; what can be read still is
  kj::Promise<void> hangup_ = nullptr;
  kj::Promise<void> grace_ = nullptr;
};

}  // namespace factionos::rpc
