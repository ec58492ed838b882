// What KJ's network, pipes and addresses stand on: descriptors made into streams and listeners.
#pragma once

#include <kj/async-io.h>

#include "protocol/rpc/compat.h"
#include "protocol/rpc/stream_fd.h"

namespace factionos::rpc {

class UvEventPort;

/// kj::newAsyncIoProvider() makes the rest of KJ's I/O from this. Datagram sockets are not offered (nothing
/// here uses them): wrapDatagramSocketFd throws UNIMPLEMENTED.
class IoProvider final : public kj::LowLevelAsyncIoProvider {
 public:
  explicit IoProvider(UvEventPort& port) : port_(port) {}

  kj::Own<kj::AsyncInputStream> wrapInputFd(Fd fd, unsigned flags) override;
  kj::Own<kj::AsyncOutputStream> wrapOutputFd(Fd fd, unsigned flags) override;
  kj::Own<kj::AsyncIoStream> wrapSocketFd(Fd fd, unsigned flags) override;
  kj::Own<kj::AsyncCapabilityStream> wrapUnixSocketFd(Fd fd, unsigned flags) override;
  kj::Promise<kj::Own<kj::AsyncIoStream>> wrapConnectingSocketFd(Fd fd, const struct sockaddr* addr,
                                                                 unsigned addrlen, unsigned flags) override;
  kj::Own<kj::ConnectionReceiver> wrapListenSocketFd(Fd fd, NetworkFilter& filter, unsigned flags) override;
  kj::Timer& getTimer() override;

  /// A unix socket whose writes fail when the other side does not read for `stall`.
  kj::Own<StreamFd> wrapPeerSocket(OwnFd fd, kj::Duration stall);

 private:
  UvEventPort& port_;
};

}  // namespace factionos::rpc
