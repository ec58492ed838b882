#include "protocol/rpc/connection.h"

#include <algorithm>

#include <capnp/message.h>
#include <capnp/rpc-twoparty.h>
#include <kj/debug.h>

#include "protocol/rpc/io_provider.h"
#include "protocol/rpc/loop.h"
#include "protocol/rpc/peer_stream.h"

namespace factionos::rpc {
namespace {

using capnp::rpc::twoparty::Side;
using capnp::rpc::twoparty::VatId;

constexpr unsigned kMostFdsPerMessage = 253;  // the kernel's SCM_MAX_FD

Side ours(Role role) {
  return role == Role::kClient ? Side::CLIENT : Side::SERVER;
}
Side theirs(Role role) {
  return role == Role::kClient ? Side::SERVER : Side::CLIENT;
}

capnp::ReaderOptions readerOptions(const ConnectionOptions& options) {
  capnp::ReaderOptions result;
  result.traversalLimitInWords = options.traversalLimitInWords;
  result.nestingLimit = options.nestingLimit;
  return result;
}

PeerLimits peerLimits(const ConnectionOptions& options) {
  // A single message must fit, else a queue that holds just that one would never count as short enough.
  const size_t largest = static_cast<size_t>(options.traversalLimitInWords) * sizeof(capnp::word);
  return {.fdsPerMessage = options.maxFdsPerMessage,
          .queuedBytes = std::max(options.maxQueuedBytes, largest),
          .openQuestions = options.maxOpenQuestions,
          .givenCapabilities = options.maxGivenCapabilities,
          .messagesPerSecond = options.maxMessagesPerSecond};
}

}  // namespace

// Declared so that the RPC system goes first and the socket last.
struct Connection::Impl {
  Impl(Loop& loop, OwnFd socket, const ConnectionOptions& options,
       kj::Maybe<capnp::Capability::Client> bootstrap)
      : role(options.role),
        stream(loop.provider().wrapPeerSocket(kj::mv(socket), options.writeStall)),
        peerStream(*stream, loop.timer(), peerLimits(options)),
        // At 0 it would drop what we send as well.
        network(peerStream, std::max(options.maxFdsPerMessage, 1U), ours(options.role),
                readerOptions(options)),
        rpcSystem(network, kj::mv(bootstrap)) {
    rpcSystem.setFlowLimit(options.flowLimitInWords);
    // The RPC system lets go when its last message is out. Whatever ended it, nothing more will be read.
    ended = network.onDisconnect()
                .then([this]() {
                  peerStream.note(DisconnectCause::kPeerClosed);
                  stream->abortRead();
                })
                .eagerlyEvaluate([](kj::Exception&&) {});
    if (role == Role::kClient) peer = askForBootstrap();
  }

  capnp::Capability::Client askForBootstrap() {
    capnp::MallocMessageBuilder message;
    auto vat = message.initRoot<VatId>();
    vat.setSide(theirs(role));
    return rpcSystem.bootstrap(vat);
  }

  const Role role;
  kj::Own<StreamFd> stream;
  PeerStream peerStream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<VatId> rpcSystem;
  kj::Maybe<capnp::Capability::Client> peer;
  kj::Promise<void> ended = nullptr;
};

Connection::Connection(Loop& loop, OwnFd socket, const ConnectionOptions& options,
                       kj::Maybe<capnp::Capability::Client> bootstrap) {
  KJ_REQUIRE(options.maxFdsPerMessage <= kMostFdsPerMessage);
  KJ_REQUIRE(options.writeStall > 0 * kj::SECONDS);
  KJ_REQUIRE(options.maxMessagesPerSecond > 0);
  impl_ = std::make_unique<Impl>(loop, kj::mv(socket), options, kj::mv(bootstrap));
}

Connection::~Connection() noexcept(false) = default;

capnp::Capability::Client Connection::bootstrap() {
  if (impl_->peerStream.isDisconnected()) return KJ_EXCEPTION(DISCONNECTED, "the connection has ended");
  FACTIONOS_IF_SOME(peer, impl_->peer) {
    return peer;
  }
  return impl_->peer.emplace(impl_->askForBootstrap());
}

kj::Promise<DisconnectCause> Connection::onDisconnect() {
  return impl_->peerStream.onDisconnect();
}

void Connection::close() {
  impl_->peerStream.close();
}

size_t Connection::queuedBytes() const {
  return impl_->peerStream.queuedBytes();
}

}  // namespace factionos::rpc
