#include "workers/common/audited_denial.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/socket.h>

namespace factionos::worker {
namespace {

struct Head {
  std::uint64_t domain;
  std::int32_t maker;
  std::uint16_t port;
  std::uint8_t blocked;
  std::uint8_t unused;
};
static_assert(sizeof(Head) == kAuditedHeadBytes);

}  // namespace

std::vector<std::byte> encode(const AuditedDenial& denial) {
  const Head head{denial.domain, denial.maker, denial.port, static_cast<std::uint8_t>(denial.blocked), 0};
  const std::size_t size = std::min(denial.path.size(), sandbox::kMostRecordPath);
  std::vector<std::byte> bytes(sizeof head + size);
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, denial.path.data(), size);
  return bytes;
}

std::optional<AuditedDenial> decodeAudited(std::span<const std::byte> datagram) {
  Head head{};
  if (datagram.size() < sizeof head || datagram.size() > kMostAuditedBytes) return std::nullopt;
  std::memcpy(&head, datagram.data(), sizeof head);
  if (head.maker < 0 || head.blocked > static_cast<std::uint8_t>(sandbox::Blocked::kAbstractSocket))
    return std::nullopt;
  AuditedDenial denial{.domain = head.domain,
                       .maker = head.maker,
                       .blocked = static_cast<sandbox::Blocked>(head.blocked),
                       .port = head.port};
  const auto path = datagram.subspan(sizeof head);
  denial.path.assign(reinterpret_cast<const char*>(path.data()), path.size());
  return denial;
}

AuditedLine makeAuditedLine() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  return {sandbox::Fd(ends[0]), sandbox::Fd(ends[1])};
}

}  // namespace factionos::worker
