#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "broker/audit/anchor.h"
#include "broker/audit/clock.h"
#include "broker/audit/digest.h"
#include "broker/audit/errors.h"
#include "broker/audit/fault_points.h"
#include "broker/audit/file_ops.h"
#include "broker/audit/record.h"

// The append-only, hash-chained, signed log of decisions and outcomes. Format and what it does not promise:
// format.md.
namespace factionos::audit {

// Where the audit of one home lies, all below its state directory:
//   audit/audit.log    the records
//   audit/epoch.key    secret key of the current epoch, 0600
//   audit.head         count and last hash, in a folder of its own so that losing the log's folder is noticed
struct AuditPaths {
  std::filesystem::path stateDirectory;

  std::filesystem::path directory() const { return stateDirectory / "audit"; }
  std::filesystem::path log() const { return directory() / "audit.log"; }
  std::filesystem::path key() const { return directory() / "epoch.key"; }
  std::filesystem::path nextKey() const { return directory() / "epoch.next.key"; }
  std::filesystem::path head() const { return stateDirectory / "audit.head"; }
};

struct AuditOptions {
  Clock clock = systemNow;
  FileOps* files = nullptr;       // borrowed; null: the real calls
  FaultPoints* faults = nullptr;  // borrowed; null: none
  Anchor* anchor = nullptr;       // borrowed; null: none is kept. One that knows later lines refuses the log
  std::uint32_t recordsPerEpoch = 4096;
  // Highest sequence number that the state database has committed (0: none). Records above it belong to a
  // batch whose commit never happened, and are declared void at open; a log that ends below it was rolled
  // back, and is refused. Absent: neither is done.
  std::optional<std::uint64_t> committedThrough{};
};

// Sequence numbers of the lines that one append wrote for its records, both ends included.
struct AppendedRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// Not thread-safe: one thread at a time. Every member that writes throws AuditUnavailable and then has
// written nothing that counts; the next call mends the tail first, so that it works again once the cause is
// gone.
class AuditLog {
 public:
  // Makes the files of a new home (the state directory exists, 0700) and writes the first line. Returns the
  // first public key as lowercase hex: print it, the operator keeps it outside. Throws kExists if any of the
  // files is there.
  static std::string create(const AuditPaths& paths, const AuditOptions& options = {});

  // Reads the current epoch, mends what a crash left (a torn tail becomes a `gap` line, a batch that the
  // state never committed a `void` line, a head one batch behind is brought up) and starts a new epoch.
  static std::unique_ptr<AuditLog> open(const AuditPaths& paths, const AuditOptions& options = {});

  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Durable when it returns: records written and synced, head written and synced, paths checked. At least one
  // record.
  AppendedRange append(std::span<const Record> records);

  // The state did not commit what `range` records. The next append says so with a `void` line before anything
  // else.
  void markVoid(AppendedRange range);

  // Ends the epoch: signs the next public key and erases the current secret.
  void roll();

  // Number of the last line, and the hash over it: what an anchor outside keeps.
  std::uint64_t lastSequence() const;
  Digest lastHash() const;
  std::uint64_t epoch() const;
  // Whether the last write worked; `doctor` shows it. May be called from any thread.
  bool healthy() const;
  // Whether the anchor, if there is one, knows of the last write. A lost one does not stop the audit. May be
  // called from any thread.
  bool anchored() const;

 private:
  struct State;
  explicit AuditLog(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace factionos::audit
