#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace factionos::audit {

enum class AuditFault {
  kMissing,       // no log where one must be
  kExists,        // create() on a home that has a log
  kUnsafeFile,    // not a regular file, a symlink, another's, or readable by others
  kTampered,      // the files contradict each other; `audit verify` names the place
  kBehindState,   // the state database has seen a later record than the log holds: the log was rolled back
  kBusy,          // another process writes this log
  kRecord,        // a record that the format can't hold: a bad action id
  kPathReplaced,  // the path no longer names the file that is open
  kWrite,         // write, truncate or sync failed, or the disk is full
  kTimedOut,      // the sink did not answer in time
};

// The audit can't be opened or written. The message names the file's role and the errno text; no path, no
// content.
class AuditUnavailable : public std::runtime_error {
 public:
  AuditUnavailable(AuditFault fault, const std::string& what) : std::runtime_error(what), fault_(fault) {}
  AuditFault fault() const { return fault_; }

 private:
  AuditFault fault_;
};

}  // namespace factionos::audit
