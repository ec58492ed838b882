// One two-party Cap'n Proto connection over one end of a unix socketpair. The peer may be hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <capnp/capability.h>
#include <kj/async.h>
#include <kj/time.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/descriptor.h"
#include "protocol/rpc/disconnect.h"

namespace factionos::rpc {

class Loop;

/// Which side of the two-party protocol this end is. Both can offer and use a bootstrap capability.
enum class Role { kClient, kServer };

/// Limits on what the peer may do to us. They are not negotiated: set them alike on both sides.
struct ConnectionOptions {
  Role role;

  /// Descriptors that one incoming message may carry, up to 253; what is above is closed. 0 for a peer that
  /// has none to send: one stays open as long as the call or capability that brought it. Sending is not
  /// limited by it.
  unsigned maxFdsPerMessage = 4;

  /// The largest message, in words of 8 bytes, and what a reader may traverse of it; applies to what we send,
  /// too.
  uint64_t traversalLimitInWords = uint64_t{1} << 20;  // 8 MiB: the largest body that the REST front takes

  /// How deep structs and lists may nest. The schemas stay far below.
  int nestingLimit = 32;

  /// Words of calls under way from the peer: above it we stop reading until some have returned.
  size_t flowLimitInWords = size_t{1} << 17;  // 1 MiB

  /// Bytes of our messages that the peer has not read yet: above it we stop reading, so that it can't make us
  /// queue answers without end. Raised to traversalLimitInWords if that is more.
  size_t maxQueuedBytes = size_t{16} << 20;

  /// Questions (calls, bootstraps) that the peer may leave unfinished; one more is a violation. Each costs us
  /// about 200 bytes, returned or not, and the flow limit sees only those under way. A stream method with
  /// small pieces has some thousands open.
  size_t maxOpenQuestions = 8192;

  /// Capabilities of ours that the peer may hold; a call from one that holds more is a violation. The
  /// launcher's broker holds four for each of 256 sessions. One that stands for a descriptor costs two while
  /// its message is not sent.
  size_t maxGivenCapabilities = 2048;

  /// Messages a second that we read; what is above waits, in the peer's socket, for the next. Twenty thousand
  /// take most of a core.
  size_t maxMessagesPerSecond = 20'000;

  /// How long a write to the peer may make no progress before the connection ends.
  kj::Duration writeStall = 10 * kj::SECONDS;
};

/// Owns the socket and the RPC state. Destroying it fails every call in either direction with DISCONNECTED
/// and may not happen inside a method that it is serving (close() may). Belongs to the loop's thread; the
/// loop outlives it.
///
/// What a peer sent before it ended is still served, also when our answers can't reach it any more; but a
/// process that must know that its calls arrived waits for their answers.
///
/// A peer that breaks the protocol, goes away or stalls ends this connection and nothing else: its
/// outstanding calls fail with DISCONNECTED, onDisconnect() resolves. Exception text from a peer begins with
/// "remote exception: " and is hostile; what we throw while serving a call reaches the peer as text, so it
/// carries nothing secret.
class Connection {
 public:
  /// `socket` is one end of a stream socketpair. `bootstrap` is what the peer gets when it asks; without it,
  /// it gets an exception. A client asks for the peer's bootstrap at once, as its connection would not be
  /// read before.
  Connection(Loop& loop, OwnFd socket, const ConnectionOptions& options,
             kj::Maybe<capnp::Capability::Client> bootstrap = kNone);
  ~Connection() noexcept(false);
  KJ_DISALLOW_COPY(Connection);

  /// The peer's bootstrap capability: the same one at each call; broken (DISCONNECTED) once the connection
  /// has ended.
  capnp::Capability::Client bootstrap();
  template <typename Interface>
  typename Interface::Client bootstrapAs() {
    return bootstrap().castAs<Interface>();
  }

  /// Resolves, never fails, when the connection has ended: at once when the peer closes or dies; when
  /// messages of ours are stuck, after at most writeStall. A peer that dies while we hold it back by the flow
  /// limit is noticed after 1 s, and calls to it fail when the connection is destroyed. May be called any
  /// number of times.
  kj::Promise<DisconnectCause> onDisconnect();

  /// Ends both directions now; what the peer has sent and we have not read is dropped. Calls fail at the
  /// loop's next turn. May be called from anywhere, also twice.
  void close();

  /// Bytes that wait to be sent.
  [[nodiscard]] size_t queuedBytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace factionos::rpc
