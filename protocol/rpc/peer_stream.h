// The message stream of one connection to a peer that may have turned bad: it notes why the connection ended,
// and stops reading while the peer leaves too many answers unread. Those wait in a queue of its own: the RPC
// system would chain one promise to the other, and undo such a chain by recursion, which a peer that lets
// some ten thousand small answers pile up turns into the end of our stack.
#pragma once

#include <cstddef>
#include <deque>

#include <capnp/rpc.capnp.h>
#include <capnp/serialize-async.h>
#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/disconnect.h"
#include "protocol/rpc/frame_reader.h"
#include "protocol/rpc/given.h"
#include "protocol/rpc/stream_fd.h"

namespace factionos::rpc {

/// What a peer may make us hold or do.
struct PeerLimits {
  size_t fdsPerMessage;      ///< descriptors taken from one message; the rest is closed
  size_t queuedBytes;        ///< of our messages, unsent: above it nothing is read
  size_t openQuestions;      ///< asked and not finished: above it the protocol is broken
  size_t givenCapabilities;  ///< of ours, held by the peer: above it a call breaks the protocol
  size_t messagesPerSecond;  ///< above it the rest waits for the next second
};

class PeerStream final : public capnp::MessageStream {
 public:
  /// `stream` and `timer` outlive this object.
  PeerStream(StreamFd& stream, kj::Timer& timer, PeerLimits limits);
  ~PeerStream() noexcept(false);
  KJ_DISALLOW_COPY(PeerStream);

  kj::Promise<DisconnectCause> onDisconnect() { return disconnected_.addBranch(); }
  [[nodiscard]] bool isDisconnected() const { return cause_ != kNone; }
  /// What waits to be sent, with what it costs us beside its bytes.
  [[nodiscard]] size_t queuedBytes() const { return queuedBytes_; }

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
  kj::Promise<void> end() override;

 private:
  using Incoming = kj::Maybe<capnp::MessageReaderAndFds>;

  kj::Maybe<kj::Promise<void>> mustWait();
  Incoming received(Incoming incoming);
  void inspectIncoming(capnp::MessageReader& message);
  void judge(capnp::rpc::Message::Reader message);
  void inspectOutgoing(kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments);
  struct Queued {
    kj::Array<capnp::word> words;
    kj::Array<OwnFd> fds;
    [[nodiscard]] size_t cost() const { return words.asBytes().size() + kQueuedOverhead; }
  };
  static constexpr size_t kQueuedOverhead = 128;

  void enqueue(kj::ArrayPtr<const int> fds, kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments);
  kj::Promise<void> gather(size_t seen, unsigned quietRounds);
  [[nodiscard]] size_t nextBatch() const;
  kj::Promise<void> write(size_t count);
  kj::Promise<void> sendQueued();
  /// What is queued and not begun, as far as the socket takes it at once: no turn of the loop may follow.
  void sendNow() noexcept;
  void sent(size_t count);
  void writeFailed(kj::Exception&& exception);
  void dropQueue();
  void lostPeer();
  void endBothDirections();

  StreamFd& stream_;
  kj::Timer& timer_;
  capnp::AsyncCapabilityMessageStream inner_;
  FrameReader frames_;
  const PeerLimits limits_;
  std::deque<Queued> queue_;
  size_t queuedBytes_ = 0;
  kj::Maybe<kj::Exception> writeError_;
  size_t openQuestions_ = 0;
  GivenCapabilities given_;
  kj::TimePoint secondBegan_;
  size_t messagesThisSecond_ = 0;
  kj::Maybe<DisconnectCause> cause_;
  kj::Own<kj::PromiseFulfiller<DisconnectCause>> ended_;
  kj::ForkedPromise<DisconnectCause> disconnected_ = nullptr;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> readsAgain_;
  bool writing_ = false;   // what is at the front of the queue
  bool peerLost_ = false;  // nothing more can be written; what can be read still is
  kj::Promise<void> hangup_ = nullptr;
  kj::Promise<void> grace_ = nullptr;
  kj::ForkedPromise<void> sending_ = nullptr;  // until the queue is empty
};

}  // namespace factionos::rpc
