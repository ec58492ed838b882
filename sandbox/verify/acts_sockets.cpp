// Sockets: whoever listens outside, and families that lead past everything else.
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "sandbox/verify/act.h"
#include "sandbox/verify/desk.h"
#include "sandbox/verify/world.h"

namespace factionos::sandbox::verify {
namespace {

constexpr int kMptcp = 262;
constexpr int kAuditNetlink = 9;

const sockaddr* generic(const void* address) {
  return static_cast<const sockaddr*>(address);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

long connectTcp(std::uint16_t port, int protocol) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol));
  const sockaddr_in address = loopback(port);
  return socket ? connect(socket.get(), generic(&address), sizeof address) : -1;
}

long sendTo(std::uint16_t port, int type, int flags) {
  const Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  return socket ? sendto(socket.get(), "x", 1, flags | MSG_NOSIGNAL, generic(&address), sizeof address) : -1;
}

long connectUnix(const std::string& name, std::size_t lead) {
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + lead, name.data(), name.size());
  const std::size_t size = offsetof(sockaddr_un, sun_path) + name.size() + 1;
  return connect(socket.get(), generic(&address), static_cast<socklen_t>(size));
}

template <int family, int type, int protocol>
long make(const World&, Evidence&) {
  const Fd socket(::socket(family, type | SOCK_CLOEXEC, protocol));
  return socket ? 0 : -1;
}

// A listener of its own within one process, and a connection to it.
long talkToItself(Evidence& evidence) {
  const Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (!listener || bind(listener.get(), generic(&address), size) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return -1;
  const long result = connectTcp(ntohs(address.sin_port), 0);
  pollfd waiting{listener.get(), POLLIN, 0};
  evidence.value = poll(&waiting, 1, 0);
  return result;
}

bool passed(const World&, const Evidence& evidence) {
  return evidence.value == 1;
}

constexpr Act kActs[] = {
    {"connect-tcp", "connect to a service of this machine",
     [](const World& world, Evidence&) { return connectTcp(world.tcp.port, 0); },
     [](const World& world, const Evidence&) { return world.tcp.heard(); }},
    {"connect-mptcp", "connect by MPTCP",
     [](const World& world, Evidence&) { return connectTcp(world.tcp.port, kMptcp); }, nullptr,
     Control::kEntry},
    {"send-udp", "send a datagram to a service of this machine",
     [](const World& world, Evidence&) { return sendTo(world.udp.port, SOCK_DGRAM, 0); },
     [](const World& world, const Evidence&) { return world.udp.heard(); }},
    {"connect-api", "connect to the API's own port",
     [](const World& world, Evidence&) { return connectTcp(world.api.port, 0); },
     [](const World& world, const Evidence&) { return world.api.heard(); }},
    {"fast-open-api", "connect to the API's own port within a send (TCP Fast Open)",
     [](const World& world, Evidence&) { return sendTo(world.api.port, SOCK_STREAM, MSG_FASTOPEN); }, nullptr,
     Control::kEntry},
    {"connect-engine", "connect to a container engine's socket file",
     [](const World& world, Evidence&) { return connectUnix(world.engine, 0); },
     [](const World& world, const Evidence&) { return world.engineSocket.heard(); }},
    {"connect-manager", "connect to the socket file of the user's service manager",
     [](const World& world, Evidence&) { return connectUnix(world.manager, 0); },
     [](const World& world, const Evidence&) { return world.managerSocket.heard(); }},
    {"connect-bus", "connect to the socket file of the user's D-Bus",
     [](const World& world, Evidence&) { return connectUnix(world.bus, 0); },
     [](const World& world, const Evidence&) { return world.busSocket.heard(); }},
    {"connect-operator", "connect to the operator's socket file",
     [](const World& world, Evidence&) { return connectUnix(world.door, 0); },
     [](const World& world, const Evidence&) { return world.doorSocket.heard(); }},
    {"connect-abstract", "connect to an abstract socket",
     [](const World& world, Evidence&) { return connectUnix(world.abstractName, 1); },
     [](const World& world, const Evidence&) { return world.abstractSocket.heard(); }},
    {"socket-raw", "make a raw socket", make<AF_INET, SOCK_RAW, IPPROTO_ICMP>, nullptr, Control::kEntry},
    {"socket-ping", "make a ping socket", make<AF_INET, SOCK_DGRAM, IPPROTO_ICMP>, nullptr, Control::kEntry},
    {"socket-packet", "make a packet socket", make<AF_PACKET, SOCK_RAW, 0>, nullptr, Control::kEntry},
    {"socket-vsock", "make a socket to the hypervisor", make<AF_VSOCK, SOCK_STREAM, 0>, nullptr,
     Control::kEntry},
    {"socket-crypto", "make a socket of the kernel's cryptography", make<AF_ALG, SOCK_SEQPACKET, 0>, nullptr,
     Control::kEntry},
    {"socket-route", "make a netlink socket", make<AF_NETLINK, SOCK_RAW, 0>, nullptr, Control::kEntry},
    {"socket-audit", "make a netlink socket of the audit", make<AF_NETLINK, SOCK_RAW, kAuditNetlink>, nullptr,
     Control::kEntry},
    {"socket-internet", "make an internet socket", make<AF_INET, SOCK_STREAM, 0>, nullptr, Control::kEntry},
    {"socket-internet-6", "make an IPv6 socket", make<AF_INET6, SOCK_DGRAM, 0>, nullptr, Control::kEntry},
    {"socket-high-bits", "make a packet socket, with a bit above the 32 that the kernel reads",
     [](const World&, Evidence&) { return syscall(SYS_socket, (1L << 32) | AF_PACKET, SOCK_RAW, 0L); },
     nullptr, Control::kEntry},
    // What must work.
    {"write-line", "write on its own line",
     [](const World&, Evidence&) { return write(kLineDescriptor, "x", 1); },
     [](const World& world, const Evidence&) { return world.lineHeard(); }},
    {"talk-to-itself", "connect to a listener of its own",
     [](const World&, Evidence& evidence) { return talkToItself(evidence); }, passed},
    {"connect-service", "connect to a service of this machine",
     [](const World& world, Evidence&) { return connectTcp(world.tcp.port, 0); },
     [](const World& world, const Evidence&) { return world.tcp.heard(); }},
};

}  // namespace

std::span<const Act> socketActs() {
  return kActs;
}

}  // namespace factionos::sandbox::verify
