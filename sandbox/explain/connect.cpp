// Connecting: the socket, then the peer.
#include <cerrno>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/explain/check.h"
#include "sandbox/explain/explain.h"

namespace factionos::sandbox::explain {
namespace {

constexpr int kAbiOfTcp = 4;

bool holds(const std::vector<PortRange>& ranges, std::uint16_t port) {
  for (const PortRange& range : ranges) {
    if (range.first <= port && port <= range.last) return true;
  }
  return false;
}

std::uint64_t wide(int value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Answer Explainer::connect(const Peer& peer) const {
  if (const auto* tcp = std::get_if<TcpPort>(&peer))
    return settle(internet(SOCK_STREAM, tcp->port, tcp->loopback, tcp->version6));
  if (const auto* udp = std::get_if<UdpPort>(&peer))
    return settle(internet(SOCK_DGRAM, udp->port, udp->loopback, udp->version6));
  return settle(unixSocket(peer));
}

std::vector<Explainer::Check> Explainer::internet(int type, std::uint16_t port, bool loopback,
                                                  bool version6) const {
  const bool stream = type == SOCK_STREAM;
  std::vector<Check> checks = {call(SYS_socket, {wide(version6 ? AF_INET6 : AF_INET), wide(type), 0}),
                               call(SYS_connect, {})};
  const bool byPort = stream && scene_.policy.tcp.need != Need::kOff && scene_.landlockAbi >= kAbiOfTcp;
  if (byPort && !holds(scene_.policy.tcp.connect, port)) {
    checks.push_back(Check::fail(EACCES, Layer::kLandlock, "no row grants this TCP port",
                                 "ports that the profile lists, and no others"));
  } else if (byPort) {
    checks.push_back(Check::pass(Layer::kLandlock, "TCP ports", "the profile lists this one"));
  }
  if (!scene_.namespaces.network) return checks;
  const bool up = scene_.policy.namespaces.loopback == Loopback::kUp && loopback;
  // A datagram leaves without an error for the loopback of here, where nobody of the machine listens.
  const int error = !up ? ENETUNREACH : stream ? ECONNREFUSED : 0;
  checks.push_back(Check::fail(error, Layer::kNamespace, "a network namespace of its own",
                               up ? "its loopback is not the machine's" : "there is no network in it"));
  return checks;
}

std::vector<Explainer::Check> Explainer::unixSocket(const Peer& peer) const {
  std::vector<Check> checks = {call(SYS_socket, {AF_UNIX, SOCK_STREAM, 0}), call(SYS_connect, {})};
  if (const auto* named = std::get_if<UnixPath>(&peer)) {
    const Place place = view_.walk(named->path);
    checks.push_back(walked(place));
    if (place.error != 0 || place.perProcess) return checks;
    if (!place.machine.empty() && faccessat(AT_FDCWD, place.machine.c_str(), W_OK, AT_EACCESS) != 0 &&
        errno != EROFS)
      checks.push_back(Check::ordinary(EACCES, "file modes"));
    if (!S_ISSOCK(place.mode)) checks.push_back(Check::ordinary(ECONNREFUSED, "it is no socket"));
    return checks;
  }
  const Scopes& scopes = scene_.policy.scopes;
  if (scene_.namespaces.network) {
    checks.push_back(Check::fail(ECONNREFUSED, Layer::kNamespace, "a network namespace of its own",
                                 "abstract names are its own"));
  } else if (scopes.abstractSockets != Need::kOff && scene_.landlockAbi >= kAbiOfScopes) {
    checks.push_back(Check::fail(EPERM, Layer::kLandlock, "the scope of abstract sockets",
                                 "none that was made outside of the domain"));
  }
  return checks;
}

}  // namespace factionos::sandbox::explain
