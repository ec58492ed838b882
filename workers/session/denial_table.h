// What a command was denied, counted: written by its gofer, read by the session, in memory that both share.
// Words of a command never lie in it: rows are made of the enumerations here, and labels of ours are made
// from those.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/descriptors.h"

namespace factionos::session {

enum class DeniedOperation : std::uint8_t {
  kRead,
  kWrite,
  kCreate,
  kExecute,
  kEnter,  // a directory
  kConnect,
  kCall
};

enum class DenialSource : std::uint8_t {
  kSeccomp,
  kLandlock,
  kNamespace,      // it lies in no file system that the command has, or on one that is read-only for it
  kSupervisor,     // the gofer: protected names
  kLandlockAudit,  // the kernel's own record of it (audited_denials.h); never the gofer's to say
};

// What was meant, as far as anybody is told.
enum class DeniedPlace : std::uint8_t {
  kNone,
  kProtected,       // detail: the index in protectedNames()
  kProtectedByGit,  // of what configuration names: hooks, files that it includes, submodules
  kWorkspace,
  kTemporary,
  kState,  // of FactionOS itself
  kHome,
  kDevice,
  kProcess,
  kSystem,
  kOutside,
  kNetwork,  // detail: the address family; all without a name of ours are counted as one
  kApi,      // the port of FactionOS's own front
};

struct Denial {
  DeniedOperation operation = DeniedOperation::kCall;
  DenialSource source = DenialSource::kSeccomp;
  DeniedPlace place = DeniedPlace::kNone;
  std::uint16_t detail = 0;  // with kCall the call's number; else see the place
};

// Whatever is not told apart.
Denial further(DenialSource source);

// Since the epoch.
std::int64_t nowMs();

struct DenialCount {
  Denial denial;
  std::uint64_t count = 0;
  std::int64_t firstMs = 0;  // since the epoch
  std::int64_t lastMs = 0;
};

// Kinds that are told apart; further ones are counted together, as "further" on "kernel".
inline constexpr std::size_t kDenialRows = 96;

// Made before the fork that separates its two users; each sees what the other does. One writes, one reads.
class DenialTable {
 public:
  // Throws SetupError.
  DenialTable();
  ~DenialTable();
  DenialTable(const DenialTable&) = delete;
  DenialTable& operator=(const DenialTable&) = delete;

  // The writer's.
  void add(const Denial& denial) noexcept;

  // Either's: event() becomes readable.
  void wake() noexcept;

  // The reader's: becomes readable when something was added since the last read(). What is no enumerator of
  // ours is left out: the writer is not trusted with more than numbers.
  [[nodiscard]] int event() const { return event_.get(); }
  [[nodiscard]] std::vector<DenialCount> read();

 private:
  struct Row {
    std::atomic<std::uint64_t> key;  // a Denial's parts, and a bit that says that the row is used
    std::atomic<std::uint64_t> count;
    std::atomic<std::int64_t> firstMs;
    std::atomic<std::int64_t> lastMs;
  };
  struct Shared {
    std::atomic<std::uint32_t> told;
    std::array<Row, kDenialRows + 1> rows;
  };

  sandbox::Fd event_;
  Shared* shared_;
};

// "read", "syscall:mount"; "seccomp"; "workspace:.git/hooks", "home". Labels of ours (system_paths.h,
// isLabel).
std::string operationLabel(const Denial& denial);
std::string sourceLabel(const Denial& denial);
std::string placeLabel(const Denial& denial);

}  // namespace factionos::session
