#include <algorithm>

#include <linux/netlink.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/socket.h>

#include "sandbox/families.h"

namespace factionos::sandbox::families {
namespace {

constexpr std::uint64_t kTypeMask = 0xf;      // the kernel's SOCK_TYPE_MASK; the rest is CLOEXEC and NONBLOCK
constexpr std::uint32_t kHighestFamily = 45;  // AF_MCTP, the last one of the kernel
constexpr std::uint32_t kTypes = 16;
constexpr std::uint32_t kAnyProtocol = 0;
constexpr std::uint32_t kTcp = IPPROTO_TCP;
constexpr std::uint32_t kUdp = IPPROTO_UDP;

ArgumentTest family32(int family) {
  return is32(0, static_cast<std::uint32_t>(family));
}
ArgumentTest typeIs(std::uint64_t type) {
  return masked(1, kTypeMask, type);
}

// Every int above `value`, the negative ones included.
std::vector<ArgumentTest> above32(unsigned argument, std::uint32_t value) {
  return rangeBlocks(argument, value + 1ULL, 0xffffffffULL, 32);
}

void admit(Family& list, int family, int type, std::uint32_t protocol) {
  list.calls.push_back(
      {SCMP_SYS(socket), {family32(family), typeIs(static_cast<std::uint64_t>(type)), is32(2, protocol)}});
}

// What else than streams and datagrams, and than TCP and UDP, the internet families know: raw, ping, SCTP,
// MPTCP ...
void denyUnusualInternet(Family& list, int family) {
  for (std::uint64_t type = 0; type < kTypes; ++type) {
    if (type == SOCK_STREAM || type == SOCK_DGRAM) continue;
    list.calls.push_back({SCMP_SYS(socket), {family32(family), typeIs(type)}});
  }
  for (std::uint32_t protocol = 1; protocol < IPPROTO_UDP; ++protocol) {
    if (protocol == IPPROTO_TCP) continue;
    list.calls.push_back({SCMP_SYS(socket), {family32(family), is32(2, protocol)}});
  }
  for (const ArgumentTest& beyond : above32(2, IPPROTO_UDP)) {
    list.calls.push_back({SCMP_SYS(socket), {family32(family), beyond}});
  }
}

void denyNetlinkButRoute(Family& list) {
  static_assert(NETLINK_ROUTE == 0);
  for (const ArgumentTest& other : above32(2, NETLINK_ROUTE)) {
    list.calls.push_back({SCMP_SYS(socket), {family32(AF_NETLINK), other}});
  }
}

}  // namespace

Family sockets(std::initializer_list<int> addressFamilies) {
  Family list{"sockets", {}};
  for (const int family : addressFamilies) {
    if (family == AF_UNIX) {
      for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) admit(list, family, type, 0);
      list.calls.push_back({SCMP_SYS(socketpair), {family32(AF_UNIX)}});
    } else if (family == AF_NETLINK) {
      for (const int type : {SOCK_RAW, SOCK_DGRAM}) admit(list, family, type, NETLINK_ROUTE);
    } else if (family == AF_INET || family == AF_INET6) {
      for (const std::uint32_t protocol : {kAnyProtocol, kTcp}) admit(list, family, SOCK_STREAM, protocol);
      for (const std::uint32_t protocol : {kAnyProtocol, kUdp}) admit(list, family, SOCK_DGRAM, protocol);
    }
  }
  return list;
}

Family socketsBut(std::vector<int> addressFamilies) {
  const auto listed = [&addressFamilies](int family) {
    return std::find(addressFamilies.begin(), addressFamilies.end(), family) != addressFamilies.end();
  };
  Family list{"socketsBut", {}};
  for (int family = 0; family <= static_cast<int>(kHighestFamily); ++family) {
    if (!listed(family)) list.calls.push_back({SCMP_SYS(socket), {family32(family)}});
    if (family != AF_UNIX) list.calls.push_back({SCMP_SYS(socketpair), {family32(family)}});
  }
  for (const ArgumentTest& beyond : above32(0, kHighestFamily)) {
    list.calls.push_back({SCMP_SYS(socket), {beyond}});
    list.calls.push_back({SCMP_SYS(socketpair), {beyond}});
  }
  for (const int family : {AF_INET, AF_INET6}) {
    if (listed(family)) denyUnusualInternet(list, family);
  }
  if (listed(AF_NETLINK)) denyNetlinkButRoute(list);
  return list;
}

}  // namespace factionos::sandbox::families
