#include "broker/api/operator_door.h"

#include <cerrno>
#include <list>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "broker/api/operator_service.h"
#include "broker/core/log.h"
#include "broker/links/links.h"
#include "protocol/rpc/connection.h"

namespace factionos::broker {
namespace {

constexpr auto kLoginLimit = 10 * kj::SECONDS;
constexpr std::size_t kStrangersOfOneUid = 4;
constexpr std::size_t kStrangers = 64;  // of all uids
constexpr std::size_t kOperators = 16;  // that have proven the key

class Door final : private kj::TaskSet::ErrorHandler {
 public:
  Door(Services& services, int listener, std::optional<uid_t> ownUid)
      : services_(services), listener_(listener), ownUid_(ownUid), tasks_(*this) {}

  kj::Promise<void> acceptAll() {
    return services_.core.loop.waitReadable(listener_).then([this]() -> kj::Promise<void> {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        try {
          admit(rpc::OwnFd(fd));
        } catch (const kj::Exception&) {
          log(Level::kWarning, "operator_connection_failed");
        }
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        // Others may give descriptors back; the client waits in the queue meanwhile.
        return services_.core.timer.afterDelay(100 * kj::MILLISECONDS).then([this]() { return acceptAll(); });
      }
      return acceptAll();
    });
  }

 private:
  struct Guest {
    uid_t uid = 0;
    bool proven = false;
    std::unique_ptr<rpc::Connection> line;
  };
  using Guests = std::list<Guest>;  // oldest first

  void admit(rpc::OwnFd socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return;
    if (ownUid_ && credentials.uid != *ownUid_) {
      log(Level::kWarning, "operator_peer_refused", {{"uid", credentials.uid}});
      return;
    }
    if (!makeRoom(credentials.uid)) return;
    guests_.push_back({.uid = credentials.uid});
    const auto guest = std::prev(guests_.end());
    KJ_ON_SCOPE_FAILURE(guests_.erase(guest));
    auto gate = kj::heap<OperatorGateService>(services_, [guest]() { guest->proven = true; });
    guest->line = std::make_unique<rpc::Connection>(services_.core.loop, kj::mv(socket),
                                                    optionsOf(linkOf(Peer::kOperator)),
                                                    capnp::Capability::Client(kj::mv(gate)));
    auto late = services_.core.timer.afterDelay(kLoginLimit).then([guest]() {
      if (!guest->proven) guest->line->close();
      return kj::Promise<void>(kj::NEVER_DONE);
    });
    tasks_.add(guest->line->onDisconnect()
                   .then([](rpc::DisconnectCause) {})
                   .exclusiveJoin(kj::mv(late))
                   .then([this, guest]() { guests_.erase(guest); }));
  }

  bool makeRoom(uid_t uid) {
    std::size_t proven = 0;
    std::size_t strangers = 0;
    std::size_t ofUid = 0;
    Guest* oldest = nullptr;
    for (Guest& each : guests_) {
      if (each.proven) {
        ++proven;
        continue;
      }
      ++strangers;
      if (each.uid != uid) continue;
      ++ofUid;
      if (oldest == nullptr) oldest = &each;
    }
    if (proven >= kOperators) return false;
    if (ofUid >= kStrangersOfOneUid) {
      oldest->line->close();  // leaves the list when the loop has told
      return ofUid < 2 * kStrangersOfOneUid;
    }
    return strangers < kStrangers;
  }

  void taskFailed(kj::Exception&&) override { log(Level::kWarning, "operator_connection_failed"); }

  Services& services_;
  const int listener_;
  const std::optional<uid_t> ownUid_;
  Guests guests_;
  kj::TaskSet tasks_;
};

}  // namespace

kj::Promise<void> serveOperator(Services& services, int listener, std::optional<uid_t> ownUid) {
  auto door = kj::heap<Door>(services, listener, ownUid);
  auto& open = *door;
  return open.acceptAll().attach(kj::mv(door));
}

}  // namespace factionos::broker
