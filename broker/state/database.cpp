#include "broker/state/database.h"

#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <sqlite3.h>

#include "broker/audit/secure_file.h"
#include "broker/state/schema.h"
#include "broker/state/sqlite_error.h"

namespace factionos::state {
namespace {

constexpr std::string_view kRole = "state database";

StateFault faultOf(const audit::FileError& error) {
  return error.fault() == audit::FileFault::kUnsafe ? StateFault::kUnsafeFile : StateFault::kIo;
}

// SQLite gives its side files the mode of the file itself, so that is made first, as all of ours are.
void prepareFile(const std::filesystem::path& file, Access access) {
  try {
    try {
      audit::openOwn(file, audit::OpenFor::kRead, kRole);
    } catch (const audit::FileError& error) {
      if (error.fault() != audit::FileFault::kMissing || access == Access::kReadOnly) throw;
      audit::createOwn(file, kRole);
    }
  } catch (const audit::FileError& error) {
    throw StateUnavailable(faultOf(error), error.what());
  }
}

}  // namespace

struct Database::Connection {
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    for (const auto& [sql, statement] : cache) sqlite3_finalize(statement);
    sqlite3_close(handle);
  }

  sqlite3* handle = nullptr;
  // Idle statements by the literal that they were made from.
  std::unordered_multimap<std::string_view, sqlite3_stmt*> cache;
};

Database::Database(const std::filesystem::path& file, Access access)
    : connection_(std::make_unique<Connection>()) {
  prepareFile(file, access);
  openFile(file, access);
  configure(access);
}

Database::~Database() = default;

sqlite3* Database::handle() {
  return connection_->handle;
}

void Database::openFile(const std::filesystem::path& file, Access) {
  // The read connection is opened for writing too, because WAL readers share an index; query_only keeps it
  // from it.
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  // NOFOLLOW refuses a link anywhere in the path; only the file itself must be none, and a home may lie
  // behind one.
  std::error_code error;
  const auto directory = std::filesystem::canonical(file.parent_path(), error);
  if (error) throw StateUnavailable(StateFault::kIo, "state database: its directory can't be found");
  checkSqlite(sqlite3_open_v2((directory / file.filename()).c_str(), &connection_->handle, flags, nullptr));
  sqlite3_busy_timeout(handle(), kBusyTimeoutMs);
  checkSqlite(sqlite3_db_config(handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr));
  checkSqlite(sqlite3_db_config(handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr));
}

void Database::configure(Access access) {
  execute("PRAGMA temp_store=MEMORY");  // no file outside the state directory
  execute("PRAGMA mmap_size=0");        // an I/O error stays an error and does not become SIGBUS
  execute("PRAGMA cell_size_check=ON");
  if (access == Access::kReadOnly) {
    requireSchema(*this);
    execute("PRAGMA query_only=ON");
    return;
  }
  requireOurs(*this);
  {
    Statement mode(*this, "PRAGMA journal_mode=WAL");
    if (!mode.step() || mode.text() != "wal") {
      throw StateUnavailable(StateFault::kIo, "state database: the file system can't hold a write-ahead log");
    }
  }
  execute("PRAGMA synchronous=FULL");
  execute("PRAGMA foreign_keys=ON");
  execute("PRAGMA secure_delete=ON");
  migrate(*this);
  Statement check(*this, "PRAGMA quick_check(1)");
  if (!check.step() || check.text() != "ok") {
    throw StateUnavailable(StateFault::kCorrupt, "state database: it is damaged; restore it from a backup");
  }
}

void Database::execute(std::string_view sql) {
  Statement statement(*this, sql);
  while (statement.step()) {
  }
}

bool Database::inTransaction() const {
  return sqlite3_get_autocommit(connection_->handle) == 0;
}

std::int64_t Database::changes() const {
  return sqlite3_changes64(connection_->handle);
}

sqlite3_stmt* Database::borrow(std::string_view sql) {
  if (auto node = connection_->cache.extract(sql)) return node.mapped();
  sqlite3_stmt* made = nullptr;
  checkSqlite(sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()),
                                 SQLITE_PREPARE_PERSISTENT, &made, nullptr));
  return made;
}

void Database::giveBack(std::string_view sql, sqlite3_stmt* statement) noexcept {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  try {
    connection_->cache.emplace(sql, statement);
  } catch (...) {
    sqlite3_finalize(statement);
  }
}

}  // namespace factionos::state
