#pragma once

#include <stdexcept>
#include <string>

namespace factionos::state {

enum class StateFault {
  kUnsafeFile,   // not a regular file, a symlink, another's, or readable by others
  kNewerSchema,  // written by a later version
  kForeign,      // a database, but not ours
  kCorrupt,      // damaged, or a row that breaks its own rules
  kFull,         // no space left
  kIo,           // read, write or sync failed
  kBusy,         // another process holds it
  kConstraint,   // a row that must be unique or must exist
  kUsage,        // a statement or value that this code got wrong
  kTimedOut,     // the disk did not answer in time; whether the change took place isn't known
};

// The state can't be opened, read or changed. The message names what to do next; no path, no value of a row.
class StateUnavailable : public std::runtime_error {
 public:
  StateUnavailable(StateFault fault, const std::string& what) : std::runtime_error(what), fault_(fault) {}
  StateFault fault() const { return fault_; }

 private:
  StateFault fault_;
};

}  // namespace factionos::state
