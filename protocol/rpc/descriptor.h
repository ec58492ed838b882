// Descriptors as capabilities.
#pragma once

#include <utility>

#include <capnp/capability.h>
#include <kj/async.h>
#include <kj/exception.h>

#include "protocol/rpc/compat.h"

namespace factionos::rpc {

/// The two ends of a stream socketpair (AF_UNIX), close-on-exec and non-blocking from birth.
struct SocketPair {
  OwnFd first;
  OwnFd second;
};

/// Throws if there is no descriptor left.
SocketPair socketPair();

/// A capability that stands for a descriptor. `Interface` is any schema interface whose methods nobody calls
/// (`interface Descriptor {}`). The descriptor closes when the last reference to the capability is gone, here
/// and at the peer; the peer receives a duplicate of it.
template <typename Interface>
class DescriptorServer final : public Interface::Server {
 public:
  explicit DescriptorServer(OwnFd fd) : fd_(kj::mv(fd)) {}
  kj::Maybe<int> getFd() override { return fd_.get(); }

 private:
  OwnFd fd_;
};

/// The receiving side of the connection needs room for it (ConnectionOptions::maxFdsPerMessage).
template <typename Interface>
typename Interface::Client carryDescriptor(OwnFd fd) {
  return kj::heap<DescriptorServer<Interface>>(kj::mv(fd));
}

/// A duplicate, owned by the caller and close-on-exec, of the descriptor behind `carrier`; a promised
/// capability is waited for (a peer may never fulfil it: give it a deadline). Fails with descriptorMissing()
/// if none came: the peer attached none, or more came than there was room for, or this process has no
/// descriptor left. What kind of descriptor it is, is for the caller to check.
kj::Promise<OwnFd> takeDescriptor(capnp::Capability::Client carrier);

/// What takeDescriptor fails with if no descriptor came.
kj::Exception descriptorMissing();
bool isDescriptorMissing(const kj::Exception& exception);

}  // namespace factionos::rpc
