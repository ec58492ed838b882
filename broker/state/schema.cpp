#include "broker/state/schema.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "broker/state/database.h"

namespace factionos::state {
namespace {

using Step = std::span<const std::string_view>;

// STRICT: SQLite itself refuses a value of another type. Times are milliseconds since the Unix epoch, UTC.
constexpr std::array kFirst = std::to_array<std::string_view>({
    R"(CREATE TABLE meta (
         name TEXT PRIMARY KEY,
         value INTEGER NOT NULL CHECK (value >= 0)
       ) STRICT, WITHOUT ROWID)",
    R"(CREATE TABLE actions (
         id TEXT PRIMARY KEY,
         revision INTEGER NOT NULL CHECK (revision > 0),
         state TEXT NOT NULL CHECK (state IN ('proposed', 'approved', 'rejected', 'expired', 'executing',
                                              'succeeded', 'failed', 'timed_out', 'unknown')),
         family TEXT NOT NULL,
         operation TEXT NOT NULL,
         workspace TEXT,
         target TEXT,
         principal TEXT NOT NULL,
         approver TEXT,
         decision TEXT,
         reason TEXT,
         request_digest BLOB NOT NULL CHECK (length(request_digest) = 32),
         policy_revision INTEGER NOT NULL,
         program_digest BLOB CHECK (length(program_digest) = 32),
         operand_digests BLOB NOT NULL CHECK (length(operand_digests) % 32 = 0),
         network TEXT,
         risk TEXT NOT NULL,
         created INTEGER NOT NULL,
         updated INTEGER NOT NULL,
         expires INTEGER,
         session_id TEXT,
         failure TEXT,
         exit_code INTEGER,
         bytes_in INTEGER NOT NULL,
         bytes_out INTEGER NOT NULL,
         dropped_bytes INTEGER NOT NULL,
         denials INTEGER NOT NULL
       ) STRICT, WITHOUT ROWID)",
    "CREATE INDEX actions_by_state ON actions (state, id)",
    R"(CREATE TABLE idempotency (
         principal TEXT NOT NULL,
         key_digest BLOB NOT NULL CHECK (length(key_digest) = 32),
         request_digest BLOB NOT NULL CHECK (length(request_digest) = 32),
         action_id TEXT REFERENCES actions (id),
         state TEXT NOT NULL CHECK (state IN ('in_flight', 'waiting', 'done')),
         boot_epoch INTEGER NOT NULL,
         reply_status INTEGER,
         reply BLOB NOT NULL,
         created INTEGER NOT NULL,
         expires_lived INTEGER NOT NULL,
         PRIMARY KEY (principal, key_digest),
         CHECK (state <> 'done' OR reply_status IS NOT NULL),
         CHECK (state <> 'waiting' OR action_id IS NOT NULL)
       ) STRICT, WITHOUT ROWID)",
    "CREATE INDEX idempotency_by_action ON idempotency (action_id)",
    "CREATE INDEX idempotency_by_expiry ON idempotency (state, expires_lived)",
    R"(CREATE TABLE tokens (
         name TEXT PRIMARY KEY,
         scopes INTEGER NOT NULL,
         digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
         created INTEGER NOT NULL,
         revoked INTEGER
       ) STRICT)",
    R"(CREATE TABLE grants (
         id INTEGER PRIMARY KEY AUTOINCREMENT,
         family TEXT NOT NULL,
         operation TEXT NOT NULL,
         workspace TEXT,
         principal TEXT,
         program TEXT,
         program_digest BLOB CHECK (length(program_digest) = 32),
         network TEXT,
         grantor TEXT NOT NULL,
         until INTEGER NOT NULL,
         created INTEGER NOT NULL
       ) STRICT)",
    R"(CREATE TABLE sessions (
         id TEXT PRIMARY KEY,
         action_id TEXT NOT NULL REFERENCES actions (id),
         state TEXT NOT NULL,
         bytes_in INTEGER NOT NULL,
         bytes_out INTEGER NOT NULL,
         dropped_bytes INTEGER NOT NULL,
         lines INTEGER NOT NULL,
         denials INTEGER NOT NULL,
         started INTEGER NOT NULL,
         ended INTEGER
       ) STRICT, WITHOUT ROWID)",
    "CREATE INDEX sessions_by_action ON sessions (action_id)",
    "CREATE INDEX sessions_unfinished ON sessions (id) WHERE ended IS NULL",
    R"(CREATE TABLE events (
         id TEXT PRIMARY KEY,
         source TEXT NOT NULL,
         kind TEXT NOT NULL,
         fields INTEGER NOT NULL,
         bytes INTEGER NOT NULL,
         time INTEGER NOT NULL,
         dedupe BLOB NOT NULL UNIQUE CHECK (length(dedupe) = 32)
       ) STRICT)",
});

// What an action's preview counted: "files=1 bytes=20".
constexpr std::array kSecond = std::to_array<std::string_view>({
    "ALTER TABLE actions ADD COLUMN changes TEXT NOT NULL DEFAULT ''",
});

// Containers and the queue that leads to them. What became of a task is what its action says: there is no
// second place that could say otherwise.
constexpr std::array kThird = std::to_array<std::string_view>({
    R"(CREATE TABLE runs (
         action_id TEXT PRIMARY KEY REFERENCES actions (id),
         runtime TEXT NOT NULL,
         cleanup TEXT NOT NULL,
         lines INTEGER NOT NULL,
         started INTEGER NOT NULL,
         ended INTEGER
       ) STRICT, WITHOUT ROWID)",
    R"(CREATE TABLE campaigns (
         id TEXT PRIMARY KEY,
         revision INTEGER NOT NULL CHECK (revision > 0),
         name TEXT NOT NULL,
         principal TEXT NOT NULL,
         created INTEGER NOT NULL,
         updated INTEGER NOT NULL
       ) STRICT, WITHOUT ROWID)",
    R"(CREATE TABLE tasks (
         id TEXT PRIMARY KEY,
         revision INTEGER NOT NULL CHECK (revision > 0),
         campaign_id TEXT REFERENCES campaigns (id),
         name TEXT NOT NULL,
         template TEXT NOT NULL,
         workspace TEXT NOT NULL,
         network TEXT NOT NULL,
         timeout_ms INTEGER NOT NULL,
         principal TEXT NOT NULL,
         attempt INTEGER NOT NULL CHECK (attempt > 0),
         action_id TEXT UNIQUE REFERENCES actions (id),
         cancelled INTEGER NOT NULL CHECK (cancelled IN (0, 1)),
         created INTEGER NOT NULL,
         updated INTEGER NOT NULL
       ) STRICT, WITHOUT ROWID)",
    "CREATE INDEX tasks_by_campaign ON tasks (campaign_id, id)",
    R"(CREATE TABLE task_needs (
         task_id TEXT NOT NULL REFERENCES tasks (id),
         needs_id TEXT NOT NULL REFERENCES tasks (id),
         PRIMARY KEY (task_id, needs_id)
       ) STRICT, WITHOUT ROWID)",
    "CREATE INDEX task_needs_by_need ON task_needs (needs_id)",
});

// Which attempt of which task an action was, also once the task has gone on to another.
constexpr std::array kFourth = std::to_array<std::string_view>({
    R"(CREATE TABLE task_attempts (
         action_id TEXT PRIMARY KEY REFERENCES actions (id),
         task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
         attempt INTEGER NOT NULL CHECK (attempt > 0)
       ) STRICT, WITHOUT ROWID)",
    "CREATE INDEX task_attempts_by_task ON task_attempts (task_id)",
    "INSERT INTO task_attempts SELECT action_id, id, attempt FROM tasks WHERE action_id IS NOT NULL",
});

// What undoing an action is asked by: the object in which its repository keeps what was there before.
constexpr std::array kFifth = std::to_array<std::string_view>({
    R"(CREATE TABLE snapshots (
         action_id TEXT PRIMARY KEY REFERENCES actions (id),
         object TEXT NOT NULL
       ) STRICT, WITHOUT ROWID)",
});

constexpr std::array<Step, 5> kSteps = {Step(kFirst), Step(kSecond), Step(kThird), Step(kFourth),
                                        Step(kFifth)};

constexpr std::int64_t kApplicationId = 0x46616374;  // "Fact", in the header of every file of ours

std::int64_t number(Database& database, std::string_view sql) {
  Statement statement(database, sql);
  return statement.step() ? statement.integer() : 0;
}

std::int64_t version(Database& database) {
  return number(database, "PRAGMA user_version");
}

}  // namespace

void requireOurs(Database& database) {
  const bool empty = number(database, "SELECT count(*) FROM sqlite_schema") == 0;
  const std::int64_t application = number(database, "PRAGMA application_id");
  if (application != kApplicationId && !(empty && application == 0)) {
    throw StateUnavailable(StateFault::kForeign,
                           "state database: the file belongs to another program; move it away");
  }
  if (version(database) > static_cast<std::int64_t>(kSteps.size())) {
    throw StateUnavailable(StateFault::kNewerSchema,
                           "state database: a later version of FactionOS wrote it; use that version");
  }
}

void requireSchema(Database& database) {
  requireOurs(database);
  if (version(database) != static_cast<std::int64_t>(kSteps.size())) {
    throw StateUnavailable(StateFault::kUsage, "state database: its tables are not made yet");
  }
}

void migrate(Database& database) {
  if (version(database) == static_cast<std::int64_t>(kSteps.size())) return;
  database.execute("BEGIN IMMEDIATE");
  try {
    for (auto step = static_cast<std::size_t>(version(database)); step < kSteps.size(); ++step) {
      for (const std::string_view sql : kSteps[step]) database.execute(sql);
    }
    database.execute("PRAGMA application_id=0x46616374");
    database.execute("PRAGMA user_version=5");
    static_assert(kSteps.size() == 5 && kApplicationId == 0x46616374, "the two literals above follow them");
    database.execute("COMMIT");
  } catch (...) {
    if (database.inTransaction()) database.execute("ROLLBACK");
    throw;
  }
}

}  // namespace factionos::state
