// The message stream of one connection to a peer that may have turned bad: it notes why the connection ended
// and stops reading while the peer leaves too many answers unread.
#pragma once

#include <cstddef>

#include <capnp/rpc.capnp.h>
#include <capnp/serialize-async.h>
#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/disconnect.h"
#include "protocol/rpc/stream_fd.h"

namespace factionos::rpc {

/// What a peer may make us hold or do.
struct PeerLimits {
  size_t fdsPerMessage;      ///< descriptors taken from one message; the rest is closed
  size_t queuedBytes;        ///< of our messages, unsent: above it nothing is read
  size_t openQuestions;      ///< asked and not finished: above it the protocol is broken
  size_t messagesPerSecond;  ///< above it the rest waits for the next second
};

class PeerStream final : public capnp::MessageStream {
 public:
  /// `stream` and `timer` outlive this object. `queuedBytes` tells how much is waiting to be sent.
  PeerStream(StreamFd& stream, kj::Timer& timer, PeerLimits limits, kj::Function<size_t()> queuedBytes);
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

  kj::Maybe<kj::Promise<void>> mustWait();
  Incoming received(Incoming incoming);
  void inspectIncoming(capnp::MessageReader& message);
  void judge(capnp::rpc::Message::Reader message);
  void inspectOutgoing(kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments);
  kj::Promise<void> watchWrite(kj::Promise<void> write);
  void lostPeer();
  void endBothDirections();

  StreamFd& stream_;
  kj::Timer& timer_;
  capnp::AsyncCapabilityMessageStream inner_;
  const PeerLimits limits_;
  kj::Function<size_t()> queuedBytes_;
  size_t openQuestions_ = 0;
  kj::TimePoint secondBegan_;
  size_t messagesThisSecond_ = 0;
  kj::Maybe<DisconnectCause> cause_;
  kj::Own<kj::PromiseFulfiller<DisconnectCause>> ended_;
  kj::ForkedPromise<DisconnectCause> disconnected_ = nullptr;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> readsAgain_;
  bool peerLost_ = false;  // nothing more can be written; what can be read still is
  kj::Promise<void> hangup_ = nullptr;
  kj::Promise<void> grace_ = nullptr;
};

}  // namespace factionos::rpc
