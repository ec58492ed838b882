// What a process of ours passes on of a kernel's record of a denial: one datagram each, from the reader of
// those records to the launcher, and from there to the session that it is about. No word in it but the path,
// which the session makes a label of and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "sandbox/descriptors.h"
#include "sandbox/landlock_records.h"

namespace factionos::worker {

struct AuditedDenial {
  std::uint64_t domain = 0;
  pid_t maker = 0;  // of the domain; 0: records were lost, and nothing else here means anything
  sandbox::Blocked blocked = sandbox::Blocked::kOther;
  std::uint16_t port = 0;
  std::string path = {};
};

// A session's argument, last: its end of such a line is descriptor kScope.
inline constexpr std::string_view kAuditedOption = "--audited";

inline constexpr std::size_t kAuditedHeadBytes = 16;
inline constexpr std::size_t kMostAuditedBytes = kAuditedHeadBytes + sandbox::kMostRecordPath;

std::vector<std::byte> encode(const AuditedDenial& denial);
// Nothing if it is too short or too long, or names what is no enumerator.
std::optional<AuditedDenial> decodeAudited(std::span<const std::byte> datagram);

// A socketpair of datagrams that keep their borders; neither end blocks. Throws std::system_error.
struct AuditedLine {
  sandbox::Fd from;
  sandbox::Fd to;
};
AuditedLine makeAuditedLine();

}  // namespace factionos::worker
