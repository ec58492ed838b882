// The fixed record that a worker writes on descriptor 4: a code and three numbers, never text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sandbox/setup_error.h"

namespace factionos::sandbox {

// Append, never renumber.
enum class EventCode : std::uint32_t {
  kEntered = 1,      // Landlock ABI, seccomp mode, bits of namespaces entered
  kTrapped = 2,      // number of the call, AUDIT_ARCH_* of its entry, 0
  kSetupFailed = 3,  // Step, errno, 0
  kServing = 4,      // free for the role
  kPeerLost = 5,
  kProtocolError = 6,
  kLimitReached = 7,  // RLIMIT_* or a role's own number, value, 0
  kInternalError = 8,
};
inline constexpr std::uint32_t kLastEventCode = 8;

struct Event {
  EventCode code = EventCode::kInternalError;
  std::array<std::uint64_t, 3> numbers = {};
  friend bool operator==(const Event&, const Event&) = default;
};

// Every worker is born with the write end of its event pipe here.
inline constexpr int kEventDescriptor = 4;

// 32 bytes: magic u32, code u32, three u64, in host order (both ends are on this machine). Below PIPE_BUF, so
// that writes to a pipe never mix.
inline constexpr std::size_t kEventBytes = 32;
using EventBytes = std::array<std::byte, kEventBytes>;

EventBytes encode(const Event& event);

// Hostile input: anything but a known magic and code is nullopt, and a kTrapped, kSetupFailed or kEntered
// record whose numbers are out of their range too.
std::optional<Event> parseEvent(std::span<const std::byte, kEventBytes> bytes);

// One write, errors ignored: there is nobody else to tell. Async-signal-safe.
void writeEvent(int descriptor, const Event& event) noexcept;

Event eventOf(const SetupError& error);

}  // namespace factionos::sandbox
