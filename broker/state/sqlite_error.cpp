#include "broker/state/sqlite_error.h"

#include <string>

#include <sqlite3.h>

#include "broker/state/errors.h"

namespace factionos::state {
namespace {

struct Meaning {
  StateFault fault;
  const char* advice;
};

Meaning meaningOf(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {StateFault::kFull, "free some space"};
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {StateFault::kIo, "look at the disk and at the state directory's mode"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {StateFault::kCorrupt, "restore it from a backup, or move it away and initialise again"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {StateFault::kBusy, "another process holds it"};
    case SQLITE_CONSTRAINT:
      return {StateFault::kConstraint, "the row breaks a rule of its table"};
    default:
      return {StateFault::kUsage, "this is an error of the program"};
  }
}

}  // namespace

void checkSqlite(int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  const Meaning meaning = meaningOf(code);
  throw StateUnavailable(meaning.fault,
                         std::string("state database: ") + sqlite3_errstr(code) + "; " + meaning.advice);
}

}  // namespace factionos::state
