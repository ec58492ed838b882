#include "protocol/rpc/descriptor.h"

#include <array>

#include <fcntl.h>
#include <sys/socket.h>

#include <kj/debug.h>

namespace factionos::rpc {
namespace {

constexpr kj::StringPtr kMissing = "the capability carries no descriptor"_kj;
constexpr int kFirstNonStandardFd = 3;

}  // namespace

SocketPair socketPair() {
  std::array<int, 2> ends{};
  KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()));
  return {OwnFd(ends[0]), OwnFd(ends[1])};
}

kj::Promise<OwnFd> takeDescriptor(capnp::Capability::Client carrier) {
  auto borrowed = carrier.getFd();
  return borrowed
      .then([](kj::Maybe<int> fd) -> OwnFd {
        FACTIONOS_IF_SOME(number, fd) {
          int own = -1;
          KJ_SYSCALL(own = fcntl(number, F_DUPFD_CLOEXEC, kFirstNonStandardFd));
          return OwnFd(own);
        }
        kj::throwFatalException(descriptorMissing());
      })
      .attach(kj::mv(carrier));
}

kj::Exception descriptorMissing() {
  return kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__, kj::str(kMissing));
}

bool isDescriptorMissing(const kj::Exception& exception) {
  return exception.getType() == kj::Exception::Type::FAILED && exception.getDescription() == kMissing;
}

}  // namespace factionos::rpc
