#include "protocol/rpc/peer_stream.h"

#include <algorithm>
#include <utility>

#include <sys/socket.h>

#include <capnp/serialize.h>
#include <kj/debug.h>

namespace factionos::rpc {
namespace {

// How long the last messages of a peer that is gone may take to be read. Mostly the end of the stream comes
// first: this runs out for a connection that is not reading (held by its flow limit), and for a peer that
// closed one direction only.
constexpr kj::Duration kHangupGrace = 1 * kj::SECONDS;

// The highest exception type that both sides know. Cap'n Proto casts what a peer sent to kj::Exception::Type
// unchecked, and KJ indexes an array with it when the exception is turned into text.
constexpr auto kLastExceptionType = static_cast<uint16_t>(capnp::rpc::Exception::Type::UNIMPLEMENTED);

void requireKnownType(capnp::rpc::Exception::Reader exception) {
  KJ_REQUIRE(static_cast<uint16_t>(exception.getType()) <= kLastExceptionType, "unknown type of exception");
}

}  // namespace

PeerStream::PeerStream(StreamFd& stream, kj::Timer& timer, PeerLimits limits,
                       kj::Function<size_t()> queuedBytes)
    : stream_(stream),
      timer_(timer),
      inner_(stream),
      limits_(limits),
      queuedBytes_(kj::mv(queuedBytes)),
      secondBegan_(timer.now()) {
  auto paf = kj::newPromiseAndFulfiller<DisconnectCause>();
  ended_ = kj::mv(paf.fulfiller);
  disconnected_ = paf.promise.fork();
  hangup_ = stream_.whenWriteDisconnected()
                .then([this]() { lostPeer(); }, [](kj::Exception&&) {})
                .eagerlyEvaluate(nullptr);
}

void PeerStream::lostPeer() {
  if (peerLost_) return;
  peerLost_ = true;
  grace_ = timer_.afterDelay(kHangupGrace)
               .then([this]() {
                 note(DisconnectCause::kPeerClosed);
                 endBothDirections();
               })
               .eagerlyEvaluate(nullptr);
}

void PeerStream::note(DisconnectCause cause) {
  if (cause_ != kNone) return;
  cause_ = cause;
  ended_->fulfill(kj::mv(cause));
}

void PeerStream::close() {
  note(DisconnectCause::kClosedHere);
  endBothDirections();
}

void PeerStream::endBothDirections() {
  // Wakes a pending read. Refused if the peer is gone, which is as good.
  FACTIONOS_IF_SOME(fd, stream_.getFd()) {
    shutdown(fd, SHUT_RDWR);
  }
}

// Reading stops while the peer asks for more than it takes, or too fast. What it sends then fills its
// socket's buffer.
kj::Maybe<kj::Promise<void>> PeerStream::mustWait() {
  if (isDisconnected()) return kNone;
  if (queuedBytes_() > limits_.queuedBytes) {
    auto paf = kj::newPromiseAndFulfiller<void>();
    readsAgain_ = kj::mv(paf.fulfiller);
    return kj::mv(paf.promise);
  }
  const auto now = timer_.now();
  if (now - secondBegan_ >= 1 * kj::SECONDS) {
    secondBegan_ = now;
    messagesThisSecond_ = 0;
  }
  if (messagesThisSecond_ >= limits_.messagesPerSecond) return timer_.atTime(secondBegan_ + 1 * kj::SECONDS);
  return kNone;
}

kj::Promise<PeerStream::Incoming> PeerStream::tryReadMessage(kj::ArrayPtr<OwnFd> fdSpace,
                                                             capnp::ReaderOptions options,
                                                             kj::ArrayPtr<capnp::word> scratchSpace) {
  auto pause = mustWait();
  FACTIONOS_IF_SOME(over, pause) {
    return over.then(
        [this, fdSpace, options, scratchSpace]() { return tryReadMessage(fdSpace, options, scratchSpace); });
  }
  ++messagesThisSecond_;
  fdSpace = fdSpace.slice(0, std::min(fdSpace.size(), limits_.fdsPerMessage));
  // Streams throw from the call itself if the failure is known at once.
  return kj::evalNow([this, fdSpace, options, scratchSpace]() {
           return inner_.tryReadMessage(fdSpace, options, scratchSpace);
         })
      .then([this](Incoming incoming) { return received(kj::mv(incoming)); },
            [this](kj::Exception&& exception) -> Incoming {
              note(exception.getType() == kj::Exception::Type::DISCONNECTED
                       ? DisconnectCause::kPeerClosed
                       : DisconnectCause::kProtocolViolation);
              kj::throwFatalException(kj::mv(exception));
            });
}

PeerStream::Incoming PeerStream::received(Incoming incoming) {
  if (cause_ == DisconnectCause::kClosedHere) return kNone;
  FACTIONOS_IF_SOME(message, incoming) {
    inspectIncoming(*message.reader);
  }
  else {
    note(DisconnectCause::kPeerClosed);
  }
  return kj::mv(incoming);
}

void PeerStream::inspectIncoming(capnp::MessageReader& message) {
  auto failure =
      kj::runCatchingExceptions([this, &message]() { judge(message.getRoot<capnp::rpc::Message>()); });
  FACTIONOS_IF_SOME(exception, failure) {
    note(DisconnectCause::kProtocolViolation);
    kj::throwFatalException(kj::mv(exception));
  }
}

// What the RPC system itself does not refuse.
void PeerStream::judge(capnp::rpc::Message::Reader message) {
  using Message = capnp::rpc::Message;
  switch (message.which()) {
    case Message::ABORT:
      requireKnownType(message.getAbort());
      note(DisconnectCause::kPeerClosed);
      break;
    case Message::RETURN:
      if (message.getReturn().isException()) requireKnownType(message.getReturn().getException());
      break;
    case Message::RESOLVE:
      if (message.getResolve().isException()) requireKnownType(message.getResolve().getException());
      break;
    case Message::BOOTSTRAP:
    case Message::CALL:
      KJ_REQUIRE(++openQuestions_ <= limits_.openQuestions, "too many questions are open");
      break;
    case Message::FINISH:
      // One that finishes nothing is refused by the RPC system.
      if (openQuestions_ > 0) --openQuestions_;
      break;
    default:
      break;
  }
}

void PeerStream::inspectOutgoing(kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  if (isDisconnected()) return;
  capnp::SegmentArrayMessageReader message(segments);
  // We abort when the peer is gone, which the read has noted before, or when it broke the protocol.
  if (message.getRoot<capnp::rpc::Message>().isAbort()) note(DisconnectCause::kProtocolViolation);
}

kj::Promise<void> PeerStream::writeMessage(kj::ArrayPtr<const int> fds,
                                           kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  inspectOutgoing(segments);
  return watchWrite(kj::evalNow([this, fds, segments]() { return inner_.writeMessage(fds, segments); }));
}

kj::Promise<void> PeerStream::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) {
  for (const auto& segments : messages) inspectOutgoing(segments);
  return watchWrite(kj::evalNow([this, messages]() { return inner_.writeMessages(messages); }));
}

kj::Promise<void> PeerStream::watchWrite(kj::Promise<void> write) {
  return write.then(
      [this]() {
        FACTIONOS_IF_SOME(waiting, readsAgain_) {
          // The reader looks at the queue again. What was just written may still be counted, but one message
          // alone is below the limit, so the last write always lets it go on.
          waiting->fulfill();
          readsAgain_ = kNone;
        }
      },
      [this](kj::Exception&& exception) {
        if (exception.getDescription() != kWriteStalled &&
            exception.getType() == kj::Exception::Type::DISCONNECTED) {
          // Failing here would make the RPC system stop reading, and drop what the peer said before its end.
          return lostPeer();
        }
        note(DisconnectCause::kStalled);
        kj::throwFatalException(kj::mv(exception));
      });
}

}  // namespace factionos::rpc
