#pragma once

namespace factionos::state {

// Throws StateUnavailable for any result code but SQLITE_OK, SQLITE_ROW and SQLITE_DONE. The message is
// SQLite's fixed text for the code: its text for the connection could name what was stored.
void checkSqlite(int code);

}  // namespace factionos::state
