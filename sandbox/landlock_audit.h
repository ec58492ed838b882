// Where the kernel's records of Landlock's denials are read: the audit's multicast group. To join it takes
// CAP_AUDIT_READ in the initial user namespace; to read from it what has joined takes nothing.
#pragma once

#include <variant>

#include "sandbox/descriptors.h"
#include "sandbox/landlock_records.h"

namespace factionos::sandbox {

enum class AuditReading {
  kRead,
  kNoCapability,
  kNotEnabled,  // this process's own denial was not told, twice within a fifth of a second
  kNoRecords,   // the kernel makes none
};

struct LandlockAudit {
  Fd socket;  // with kRead alone; does not block
  AuditReading reading = AuditReading::kNoRecords;
};

// Joins if this process has CAP_AUDIT_READ, takes that out of every set of it, joined or not (but the
// bounding set, where it has no CAP_SETPCAP: no_new_privs makes that one useless), and then makes sure in a
// throw-away child that a denial is told. Before threads. Leaves this process undumpable. Throws SetupError
// if the capability can't be dropped.
LandlockAudit joinLandlockAudit();

// Records lie ahead of this one that there was no room for.
struct RecordsLost {};

using ReadRecord = std::variant<LandlockRecord, RecordsLost>;

// The next record of `socket`, of whatever type; what is not Landlock's is std::monostate. False: there is
// none yet.
bool readLandlockAudit(int socket, ReadRecord& record);

}  // namespace factionos::sandbox
