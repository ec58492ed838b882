#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "broker/audit/audit_log.h"
#include "broker/audit/head.h"
#include "broker/audit/scan.h"

namespace factionos::audit {

AuditFault faultOf(const FileError& error);

struct LogFiles {
  FileDescriptor log;
  HeadFile head;
  EpochKey key;
};

// The writing side of AuditLog: one batch of lines at a time, in the order bytes → sync → head → sync, and
// the mending of what an earlier failure left. Throws FileError, AuditUnavailable.
class LogWriter {
 public:
  static std::string create(const AuditPaths& paths, const AuditOptions& options);

  // Goes on after `scan`, whose torn bytes become a gap line, and whose head may be a batch behind.
  LogWriter(const AuditPaths& paths, const AuditOptions& options, LogFiles files, const Scan& scan);

  AppendedRange append(std::span<const Record> records);
  void roll();
  // A second range before the first was written widens it.
  void markVoid(std::optional<AppendedRange> range);

  const Chain::Point& end() const { return end_; }
  std::uint64_t epoch() const { return epoch_; }

 private:
  using Body = decltype(Line::body);
  struct Batch;

  // Brings files that an earlier failure left behind up to date; before any other write.
  void settle();
  void checkNamed() const;
  std::vector<Body> mendingLines();
  std::optional<Gap> gapAtEnd() const;
  Batch compose(std::vector<Body> bodies) const;
  // Writes and syncs the lines; afterwards they are the end of the log, and the head is stale.
  void put(const Batch& batch);
  void writeHead();
  void replaceKey();
  FileOps& ops() { return options_.files != nullptr ? *options_.files : *real_; }
  void reach(FaultPoint point) { audit::reach(options_.faults, point); }

  AuditPaths paths_;
  AuditOptions options_;
  std::unique_ptr<FileOps> real_ = std::make_unique<FileOps>();
  LogFiles files_;
  Chain::Point end_;
  std::uint64_t epoch_;
  std::uint64_t epochStart_;
  std::uint64_t epochStartSequence_;
  bool tailDirty_ = false;  // there may be bytes past end_
  bool headStale_ = false;  // the head is a batch behind
  bool keyStale_ = false;   // the key file is an epoch behind, the next one lies beside it
  std::optional<AppendedRange> void_;
};

}  // namespace factionos::audit
