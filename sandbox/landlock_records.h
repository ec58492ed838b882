// The records that the kernel's audit makes of Landlock's denials (Linux 6.15, include/uapi/linux/audit.h:
// AUDIT_LANDLOCK_ACCESS and AUDIT_LANDLOCK_DOMAIN; security/landlock/audit.c). What they say of files and
// programs is whatever those are called: hostile. Anything that is not exactly of their form is nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <sys/types.h>

namespace factionos::sandbox {

inline constexpr std::uint16_t kLandlockAccessRecord = 1423;
inline constexpr std::uint16_t kLandlockDomainRecord = 1424;
// The kernel's MAX_AUDIT_MESSAGE_LENGTH; a longer record is none.
inline constexpr std::size_t kMostRecordBytes = 8970;
// PATH_MAX; of a longer one only so much is kept.
inline constexpr std::size_t kMostRecordPath = 4096;

// Of several rights that one act lacked, the one that says most.
enum class Blocked : std::uint8_t {
  kOther,  // signals, tracing, and what later kernels add
  kRead,
  kWrite,  // truncating, removing and moving are it, too
  kCreate,
  kExecute,
  kDevice,  // ioctl on one
  kBindTcp,
  kConnectTcp,
  kAbstractSocket,
};

struct LandlockDenial {
  std::uint64_t domain = 0;  // the kernel's number of the layer that denied it: never used twice
  Blocked blocked = Blocked::kOther;
  std::uint16_t port = 0;  // with kConnectTcp and kBindTcp
  std::string path = {};   // as the process that was denied sees it; may be empty
};

// Told with a domain's first denial, and when it ends.
struct LandlockDomain {
  std::uint64_t domain = 0;
  pid_t maker = 0;  // who restricted itself, in the initial pid namespace; 0: the domain has ended
  uid_t user = 0;   // the maker's
};

using LandlockRecord = std::variant<std::monostate, LandlockDenial, LandlockDomain>;

// `text`: what follows the netlink header.
LandlockRecord parseLandlockRecord(std::uint16_t type, std::string_view text);

}  // namespace factionos::sandbox
