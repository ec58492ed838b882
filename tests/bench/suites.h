// The suites of main.cpp's table.
#pragma once

#include "tests/bench/report.h"
#include "tests/bench/world.h"

namespace factionos::bench {

enum class Effort { kQuick, kFull };

// A sandboxed `true`, beside bwrap, firejail and a bare fork and exec.
void measureStart(Report& report, Effort effort, Meter& meter);
// A read route and a durable one, beside Node's http (with better-sqlite3) and SQLite alone.
void measureHttp(Report& report, Effort effort, Meter& meter);
// Bytes of output a second, beside a pump that only reads the terminal.
void measureTerminal(Report& report, Effort effort, Meter& meter);
// Status and commit over REST, beside git as a child of Node; a file written and read, beside Node's fs.
void measureGit(Report& report, Effort effort, Meter& meter);
// Idle processes, and one session more.
void measureMemory(Report& report, Effort effort, Meter& meter);
// The same requests with a million records, a hundred thousand actions and 200 live sessions.
void measureScale(Report& report, Effort effort, Meter& meter);
// A build, an archive, a status and a walk in a session, beside no sandbox and bwrap.
void measureSupervision(Report& report, Effort effort, Meter& meter);

// A template in a container, beside docker run --rm. Prints why it does not run where no engine is named.
void measureContainer(Report& report, Effort effort, Meter& meter);

}  // namespace factionos::bench
