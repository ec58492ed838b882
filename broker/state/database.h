#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "broker/state/errors.h"
#include "broker/state/statement.h"

struct sqlite3;

namespace factionos::state {

enum class Access {
  kReadWrite,  // the writer's connection: makes the file if it isn't there, migrates the schema, checks it
  kReadOnly,   // the loop thread's connection: the file must exist with today's schema
};

// One SQLite connection to `state/state.db`. WAL, synchronous FULL, foreign keys, secure_delete, temporary
// data in memory only, so that every syscall stays below the state directory. One thread at a time; two
// connections may live on two threads. Holds no raw text: rows are labels, codes, digests, counts and times.
class Database {
 public:
  // The file's directory exists. Throws StateUnavailable: kUnsafeFile unless it is a regular file of this
  // user with mode 0600, kForeign, kNewerSchema, kCorrupt (SQLite's quick check on every read-write open),
  // kIo.
  Database(const std::filesystem::path& file, Access access);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // For SQL text without parameters or rows that is a literal of this code.
  void execute(std::string_view sql);
  bool inTransaction() const;
  std::int64_t changes() const;

  sqlite3* handle();

 private:
  friend class Statement;
  sqlite3_stmt* borrow(std::string_view sql);
  void giveBack(std::string_view sql, sqlite3_stmt* handle) noexcept;
  void openFile(const std::filesystem::path& file, Access access);
  void configure(Access access);

  struct Connection;
  std::unique_ptr<Connection> connection_;
};

// Milliseconds that a statement waits for another process's lock before kBusy.
inline constexpr int kBusyTimeoutMs = 5000;

}  // namespace factionos::state
