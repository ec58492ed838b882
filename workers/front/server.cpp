#include "workers/front/server.h"

#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <kj/exception.h>

namespace factionos::front {
namespace {

constexpr kj::Duration kAcceptPause = 100 * kj::MILLISECONDS;

// Answers leave whole; waiting for an acknowledgement before the next small one only costs time.
void sendAtOnce(kj::AsyncIoStream& stream) {
  const int on = 1;
  try {
    stream.setsockopt(IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  } catch (const kj::Exception&) {
    // The peer is gone already, or this is no TCP socket.
  }
}

}  // namespace

Server::Server(ConnectionServices& services, std::size_t maxConnections)
    : services_(services), maxConnections_(maxConnections), serving_(*this) {}

Server::~Server() noexcept(false) = default;

void Server::listen(kj::Own<kj::ConnectionReceiver> receiver, Transport transport) {
  Listener& listener = listeners_.emplace_back(Listener{kj::mv(receiver), transport, kj::READY_NOW});
  listener.accepting = acceptFrom(listener).eagerlyEvaluate(nullptr);
}

kj::Promise<void> Server::acceptFrom(Listener& listener) {
  return kj::evalNow([&listener] { return listener.receiver->accept(); })
      .then(
          [this, &listener](kj::Own<kj::AsyncIoStream> stream) { take(kj::mv(stream), listener.transport); })
      .catch_([this](kj::Exception&&) { return services_.timer.afterDelay(kAcceptPause); })
      .then([this, &listener] { return acceptFrom(listener); });
}

void Server::take(kj::Own<kj::AsyncIoStream> stream, Transport transport) {
  ++accepted_;
  if (connections_.size() >= maxConnections_ && !makeRoom()) {
    ++turnedAway_;
    return;
  }
  if (transport == Transport::kTcp) sendAtOnce(*stream);
  auto connection = kj::heap<Connection>(kj::mv(stream), transport, services_);
  const auto place = connections_.insert(connections_.end(), connection.get());
  auto served = connection->serve();
  serving_.add(served
                   .then([this, place] {
                     connections_.erase(place);
                     ended();
                   })
                   .attach(kj::mv(connection)));
}

bool Server::makeRoom() {
  Connection* waiting = nullptr;
  for (Connection* connection : connections_) {
    const auto phase = connection->phase();
    if (phase != Connection::Phase::kIdle && phase != Connection::Phase::kHeader) continue;
    if (waiting == nullptr || connection->phaseSince() < waiting->phaseSince()) waiting = connection;
  }
  if (waiting == nullptr) return false;
  waiting->abort();
  return true;
}

kj::Promise<void> Server::drain(kj::Duration grace) {
  listeners_.clear();
  for (Connection* connection : connections_) connection->finish();
  if (connections_.empty()) return kj::READY_NOW;
  auto drained = kj::newPromiseAndFulfiller<void>();
  drained_ = kj::mv(drained.fulfiller);
  return drained.promise.exclusiveJoin(services_.timer.afterDelay(grace));
}

void Server::ended() {
  if (connections_.empty() && drained_.get() != nullptr) drained_->fulfill();
}

void Server::taskFailed(kj::Exception&&) {
}  // neither accepting nor serving fails; nothing here may end the front

}  // namespace factionos::front
