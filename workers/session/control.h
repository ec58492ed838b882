// Between a session and the keeper of its command's tree: a stream socketpair with fixed records. Both ends
// are ours; the command never holds either.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace factionos::session {

// Session to keeper. End of file means kKill.
struct Order {
  enum class Kind : std::uint32_t { kKill = 1, kSignal = 2 };
  Kind kind = Kind::kKill;
  std::uint32_t signal = 0;
};
static_assert(sizeof(Order) == 8);

// Keeper to session.
struct Report {
  enum class Kind : std::uint32_t {
    kKeeper = 1,   // numbers[0]: the keeper's pid as the session sees it; text: nothing
    kStarted = 2,  // the command has been executed; text: posture labels, a line each
    kFailed = 3,   // numbers: Step, errno; text: the reason. The keeper ends.
    kEnded = 4,    // nothing of the tree is left; numbers as in EndNumbers
  };
  Kind kind = Kind::kFailed;
  std::uint32_t textBytes = 0;  // that follow
  std::array<std::uint64_t, 5> numbers = {};
};
static_assert(sizeof(Report) == 48);

inline constexpr std::size_t kReportTextBytes = 4096;

// Why a tree ended.
enum class End : std::uint64_t { kExited = 1, kKilled = 2, kProcesses = 3, kMemory = 4, kCpu = 5, kLost = 6 };

enum EndNumber : std::size_t { kWaitStatus, kReason, kCpuMs, kMaxRssBytes, kPeakProcesses };

// Whole or false, blocking whatever the descriptor's flags say. Async-signal-safe.
bool sendAll(int socket, const void* bytes, std::size_t size) noexcept;

bool sendReport(int socket, Report::Kind kind, std::span<const std::uint64_t> numbers,
                std::string_view text = {}) noexcept;

}  // namespace factionos::session
