// Takes connections from the listeners, keeps their number bounded, and ends them all on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include <kj/async-io.h>
#include <kj/async.h>

#include "workers/front/connection.h"

namespace factionos::front {

class Server final : private kj::TaskSet::ErrorHandler {
 public:
  // `services` outlives this.
  Server(ConnectionServices& services, std::size_t maxConnections);
  ~Server() noexcept(false);
  KJ_DISALLOW_COPY(Server);

  // Accepts until drain(). A failed accept (no descriptor left) is tried again after a pause.
  void listen(kj::Own<kj::ConnectionReceiver> listener, Transport transport);

  // Serves one connection that somebody else accepted. Above the limit the connection that has waited longest
  // for a request, or for the rest of its header, gives way; if all are being served the new one is closed.
  void take(kj::Own<kj::AsyncIoStream> stream, Transport transport);

  // Accepts no more; resolves when what is under way has been answered, or after `grace`.
  kj::Promise<void> drain(kj::Duration grace);

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t turnedAway() const { return turnedAway_; }

 private:
  struct Listener {
    kj::Own<kj::ConnectionReceiver> receiver;
    Transport transport;
    kj::Promise<void> accepting;  // last: cancelled before the receiver goes away
  };

  kj::Promise<void> acceptFrom(Listener& listener);
  bool makeRoom();
  void ended();
  void taskFailed(kj::Exception&& exception) override;

  ConnectionServices& services_;
  std::size_t maxConnections_;
  std::uint64_t accepted_ = 0;
  std::uint64_t turnedAway_ = 0;
  std::list<Listener> listeners_;
  std::list<Connection*> connections_;  // oldest first; owned by their tasks
  kj::Own<kj::PromiseFulfiller<void>> drained_;
  kj::TaskSet serving_;
};

}  // namespace factionos::front
