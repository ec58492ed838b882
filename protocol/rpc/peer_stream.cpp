#include "protocol/rpc/peer_stream.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>

#include <capnp/serialize.h>
#include <kj/debug.h>

namespace factionos::rpc {
namespace {

// How long the last messages of a peer that is gone may take to be read. Mostly the end of the stream comes
// first: this runs out for a connection that is not reading (held by its flow limit), and for a peer that
// closed one direction only.
constexpr kj::Duration kHangupGrace = 1 * kj::SECONDS;

// The RPC system lets a few rounds of the loop's queue pass between one message and the next.
constexpr unsigned kQuietRounds = 4;
// Enough for the calls and wakings to count for little, and few enough for the peer to work on them while we
// work on the next.
constexpr size_t kMostGathered = 16;

// The highest exception type that both sides know. Cap'n Proto casts what a peer sent to kj::Exception::Type
// unchecked, and KJ indexes an array with it when the exception is turned into text.
constexpr auto kLastExceptionType = static_cast<uint16_t>(capnp::rpc::Exception::Type::UNIMPLEMENTED);

void requireKnownType(capnp::rpc::Exception::Reader exception) {
  KJ_REQUIRE(static_cast<uint16_t>(exception.getType()) <= kLastExceptionType, "unknown type of exception");
}

}  // namespace

PeerStream::PeerStream(StreamFd& stream, kj::Timer& timer, PeerLimits limits)
    : stream_(stream),
      timer_(timer),
      inner_(stream),
      frames_(stream, limits.fdsPerMessage),
      limits_(limits),
      secondBegan_(timer.now()),
      sending_(kj::Promise<void>(kj::READY_NOW).fork()) {
  auto paf = kj::newPromiseAndFulfiller<DisconnectCause>();
  ended_ = kj::mv(paf.fulfiller);
  disconnected_ = paf.promise.fork();
  hangup_ = stream_.whenWriteDisconnected()
                .then([this]() { lostPeer(); }, [](kj::Exception&&) {})
                .eagerlyEvaluate(nullptr);
}

PeerStream::~PeerStream() noexcept(false) {
  sendNow();
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
  sendNow();
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
  if (queuedBytes_ > limits_.queuedBytes) {
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
  return kj::evalNow([this, fdSpace, options]() { return frames_.read(fdSpace, options); })
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
  given_.received(message);
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
      KJ_REQUIRE(given_.count() <= limits_.givenCapabilities, "too many capabilities are held");
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
  capnp::SegmentArrayMessageReader reader(segments);
  const auto message = reader.getRoot<capnp::rpc::Message>();
  given_.sent(message);
  // We abort when the peer is gone, which the read has noted before, or when it broke the protocol.
  if (message.isAbort()) note(DisconnectCause::kProtocolViolation);
}

// Answers at once, so that the RPC system queues nothing.
kj::Promise<void> PeerStream::writeMessage(kj::ArrayPtr<const int> fds,
                                           kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  inspectOutgoing(segments);
  enqueue(fds, segments);
  return kj::READY_NOW;
}

kj::Promise<void> PeerStream::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) {
  for (const auto& segments : messages) {
    inspectOutgoing(segments);
    enqueue(nullptr, segments);
  }
  return kj::READY_NOW;
}

kj::Promise<void> PeerStream::end() {
  return sending_.addBranch().then([this]() { return inner_.end(); });
}

void PeerStream::enqueue(kj::ArrayPtr<const int> fds,
                         kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  FACTIONOS_IF_SOME(error, writeError_) {
    kj::throwFatalException(kj::cp(error));
  }
  if (peerLost_) return;
  auto copies = kj::heapArrayBuilder<OwnFd>(fds.size());
  for (const int fd : fds) {
    int copy = -1;
    KJ_SYSCALL(copy = fcntl(fd, F_DUPFD_CLOEXEC, 0));
    copies.add(OwnFd(copy));
  }
  queue_.push_back({capnp::messageToFlatArray(segments), copies.finish()});
  queuedBytes_ += queue_.back().cost();
  if (queue_.size() == 1) sending_ = gather(1, 0).eagerlyEvaluate(nullptr).fork();
}

// Nothing is sent until the loop's queue has gone round a few times without another message: the answers to
// what came at once then leave at once, in one call and with one waking of the peer. A round is as long as
// what is due.
kj::Promise<void> PeerStream::gather(size_t seen, unsigned quietRounds) {
  return kj::evalLater([this, seen, quietRounds]() -> kj::Promise<void> {
    const unsigned quiet = queue_.size() == seen ? quietRounds + 1 : 0;
    if (quiet == kQuietRounds || queue_.size() >= kMostGathered) return sendQueued();
    return gather(queue_.size(), quiet);
  });
}

// How many messages go next in one write: one that carries descriptors goes alone, because the reader finds
// out by that whose they are.
size_t PeerStream::nextBatch() const {
  const auto carries = [](const Queued& each) { return each.fds.size() > 0; };
  const auto plain = std::find_if(queue_.begin(), queue_.end(), carries) - queue_.begin();
  return plain > 0 ? static_cast<size_t>(plain) : std::min<size_t>(queue_.size(), 1);
}

kj::Promise<void> PeerStream::write(size_t count) {
  auto pieces = kj::heapArray<kj::ArrayPtr<const kj::byte>>(count);
  for (size_t i = 0; i < count; ++i) pieces[i] = queue_[i].words.asBytes();
  const auto& fds = queue_.front().fds;
  auto numbers = kj::heapArray<int>(fds.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = fds[i].get();
  auto written =
      kj::evalNow([&]() { return stream_.writeWithFds(pieces[0], pieces.slice(1, pieces.size()), numbers); });
  return written.attach(kj::mv(numbers), kj::mv(pieces));
}

kj::Promise<void> PeerStream::sendQueued() {
  const size_t count = nextBatch();
  writing_ = count > 0;
  if (!writing_) return kj::READY_NOW;
  return write(count).then([this, count]() { return sent(count), sendQueued(); },
                           [this](kj::Exception&& exception) -> kj::Promise<void> {
                             writeFailed(kj::mv(exception));
                             return kj::READY_NOW;
                           });
}

void PeerStream::sendNow() noexcept {
  if (writing_ || queue_.empty() || peerLost_) return;
  // Dropped unfinished, it has written what the socket took.
  static_cast<void>(write(nextBatch()));
  dropQueue();
}

// The reader looks at the queue again: what was sent may have made it short enough.
void PeerStream::sent(size_t count) {
  for (; count > 0 && !queue_.empty(); --count) {
    queuedBytes_ -= queue_.front().cost();
    queue_.pop_front();
  }
  FACTIONOS_IF_SOME(waiting, readsAgain_) {
    waiting->fulfill();
    readsAgain_ = kNone;
  }
}

void PeerStream::writeFailed(kj::Exception&& exception) {
  writing_ = false;
  dropQueue();
  if (exception.getDescription() != kWriteStalled &&
      exception.getType() == kj::Exception::Type::DISCONNECTED) {
    // Failing here would make the RPC system stop reading, and drop what the peer said before its end.
    return lostPeer();
  }
  note(DisconnectCause::kStalled);
  writeError_ = kj::mv(exception);
  endBothDirections();
}

void PeerStream::dropQueue() {
  queue_.clear();
  queuedBytes_ = 0;
  FACTIONOS_IF_SOME(waiting, readsAgain_) {
    waiting->fulfill();
    readsAgain_ = kNone;
  }
}

}  // namespace factionos::rpc
