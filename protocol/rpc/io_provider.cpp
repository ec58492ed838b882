#include "protocol/rpc/io_provider.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <kj/debug.h>

#include "protocol/rpc/event_port.h"

namespace factionos::rpc {
namespace {

using Provider = kj::LowLevelAsyncIoProvider;

constexpr unsigned kNewFdFlags =
    Provider::TAKE_OWNERSHIP | Provider::ALREADY_CLOEXEC | Provider::ALREADY_NONBLOCK;

// How long a listener waits when the process or the system has no descriptor or memory left. The connection
// stays in the backlog meanwhile, so trying again at once would spin.
constexpr kj::Duration kAcceptPause = 100 * kj::MILLISECONDS;

union Address {
  sockaddr generic;
  sockaddr_in inet4;
  sockaddr_in6 inet6;
  sockaddr_un local;
  sockaddr_storage storage;
};

enum class AcceptFailure { kWouldBlock, kTryNext, kNoRoom, kFatal };

AcceptFailure classify(int error) {
  switch (error) {
    case EAGAIN:
      return AcceptFailure::kWouldBlock;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return AcceptFailure::kNoRoom;
    case EINTR:
    // That one connection failed before it was taken (accept(2), "Error handling"); the next may be well.
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case ETIMEDOUT:
      return AcceptFailure::kTryNext;
    default:
      return AcceptFailure::kFatal;
  }
}

class Listener final : public kj::ConnectionReceiver {
 public:
  Listener(UvEventPort& port, int fd, unsigned flags, Provider::NetworkFilter& filter)
      : port_(port),
        fd_(fd),
        owned_((flags & Provider::TAKE_OWNERSHIP) != 0 ? fd : -1),
        filter_(filter),
        watch_(port.pollSet(), fd) {
    prepareFd(fd, flags);
  }

  kj::Promise<kj::Own<kj::AsyncIoStream>> accept() override {
    return acceptOne().then([](kj::AuthenticatedStream accepted) { return kj::mv(accepted.stream); });
  }

  /// The peer's identity is its pid and uid (SO_PEERCRED) on a unix socket, and unknown on any other.
  kj::Promise<kj::AuthenticatedStream> acceptAuthenticated() override { return acceptOne(); }

  unsigned getPort() override {
    Address address{};
    socklen_t size = sizeof(address);
    KJ_SYSCALL(::getsockname(fd_, &address.generic, &size));
    switch (address.generic.sa_family) {
      case AF_INET:
        return ntohs(address.inet4.sin_port);
      case AF_INET6:
        return ntohs(address.inet6.sin6_port);
      default:
        return 0;
    }
  }

  void getsockopt(int level, int option, void* value, unsigned* length) override {
    socklen_t size = *length;
    KJ_SYSCALL(::getsockopt(fd_, level, option, value, &size));
    *length = size;
  }
  void setsockopt(int level, int option, const void* value, unsigned length) override {
    KJ_SYSCALL(::setsockopt(fd_, level, option, value, length));
  }
  void getsockname(struct sockaddr* addr, unsigned* length) override {
    socklen_t size = *length;
    KJ_SYSCALL(::getsockname(fd_, addr, &size));
    *length = size;
  }

 private:
  kj::Promise<kj::AuthenticatedStream> acceptOne() {
    for (;;) {
      Address peer{};
      socklen_t size = sizeof(peer);
      const int accepted = accept4(fd_, &peer.generic, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (accepted >= 0) {
        OwnFd connection(accepted);
        if (filter_.shouldAllow(&peer.generic, size)) return take(kj::mv(connection), peer);
        continue;
      }
      const int error = errno;
      switch (classify(error)) {
        case AcceptFailure::kWouldBlock:
          return watch_.whenReadable().then([this]() { return acceptOne(); });
        case AcceptFailure::kNoRoom:
          return port_.timer().afterDelay(kAcceptPause).then([this]() { return acceptOne(); });
        case AcceptFailure::kTryNext:
          continue;
        case AcceptFailure::kFatal:
          KJ_FAIL_SYSCALL("accept4", error);
      }
    }
  }

  kj::AuthenticatedStream take(OwnFd connection, const Address& peer) {
    kj::Own<kj::PeerIdentity> identity;
    if (peer.generic.sa_family == AF_UNIX) {
      ucred credentials{};
      socklen_t size = sizeof(credentials);
      KJ_SYSCALL(::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size));
      kj::LocalPeerIdentity::Credentials known;
      if (credentials.pid > 0) known.pid = credentials.pid;
      if (credentials.uid != static_cast<uid_t>(-1)) known.uid = credentials.uid;
      identity = kj::LocalPeerIdentity::newInstance(known);
    } else {
      identity = kj::UnknownPeerIdentity::newInstance();
    }
    return {kj::heap<StreamFd>(port_.pollSet(), connection.release(), kNewFdFlags, FdKind::kSocket),
            kj::mv(identity)};
  }

  UvEventPort& port_;
  const int fd_;
  OwnFd owned_;
  Provider::NetworkFilter& filter_;
  FdWatch watch_;
};

}  // namespace

kj::Own<kj::AsyncInputStream> IoProvider::wrapInputFd(Fd fd, unsigned flags) {
  return kj::heap<StreamFd>(port_.pollSet(), fd, flags, FdKind::kOther);
}

kj::Own<kj::AsyncOutputStream> IoProvider::wrapOutputFd(Fd fd, unsigned flags) {
  return kj::heap<StreamFd>(port_.pollSet(), fd, flags, FdKind::kOther);
}

kj::Own<kj::AsyncIoStream> IoProvider::wrapSocketFd(Fd fd, unsigned flags) {
  return kj::heap<StreamFd>(port_.pollSet(), fd, flags, FdKind::kSocket);
}

kj::Own<kj::AsyncCapabilityStream> IoProvider::wrapUnixSocketFd(Fd fd, unsigned flags) {
  return kj::heap<StreamFd>(port_.pollSet(), fd, flags, FdKind::kSocket);
}

kj::Promise<kj::Own<kj::AsyncIoStream>> IoProvider::wrapConnectingSocketFd(Fd fd, const struct sockaddr* addr,
                                                                           unsigned addrlen, unsigned flags) {
  auto stream = kj::heap<StreamFd>(port_.pollSet(), fd, flags, FdKind::kSocket);
  if (connect(fd, addr, addrlen) == 0) return kj::Own<kj::AsyncIoStream>(kj::mv(stream));
  const int error = errno;
  // An interrupted connect goes on by itself. A unix socket whose listener has no room says EAGAIN, which no
  // readiness follows: that is the caller's to retry.
  if (error != EINPROGRESS && error != EINTR) KJ_FAIL_SYSCALL("connect", error);
  auto connected = stream->whenConnected();
  return connected.then(
      [stream = kj::mv(stream)]() mutable -> kj::Own<kj::AsyncIoStream> { return kj::mv(stream); });
}

kj::Own<kj::ConnectionReceiver> IoProvider::wrapListenSocketFd(Fd fd, NetworkFilter& filter, unsigned flags) {
  return kj::heap<Listener>(port_, fd, flags, filter);
}

kj::Timer& IoProvider::getTimer() {
  return port_.timer();
}

kj::Own<StreamFd> IoProvider::wrapPeerSocket(OwnFd fd, kj::Duration stall) {
  return kj::heap<StreamFd>(port_.pollSet(), fd.release(), Provider::TAKE_OWNERSHIP, FdKind::kSocket,
                            WriteStall{port_.timer(), stall});
}

}  // namespace factionos::rpc
