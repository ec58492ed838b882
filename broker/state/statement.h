#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/audit/clock.h"
#include "broker/audit/digest.h"
#include "broker/audit/label.h"
#include "broker/state/errors.h"

struct sqlite3_stmt;

namespace factionos::state {

class Database;
using audit::Bytes;
using audit::Code;
using audit::Digest;
using audit::Label;
using audit::Time;

// One use of a prepared statement: bind in order, step, read columns in order. Borrowed from its connection's
// cache and given back, cleared, on destruction; must not outlive the Database. Every member throws
// StateUnavailable.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds the next parameter. Bytes and text are copied.
  Statement& bind(std::int64_t value);
  Statement& bind(std::uint64_t value);  // at most 2^63-1
  Statement& bind(std::uint32_t value) { return bind(std::int64_t{value}); }
  Statement& bind(std::int32_t value) { return bind(std::int64_t{value}); }
  Statement& bind(std::string_view value);
  Statement& bind(const std::string& value) { return bind(std::string_view(value)); }
  Statement& bind(const char* value) { return bind(std::string_view(value)); }
  Statement& bind(Bytes value);
  Statement& bind(const Digest& value) { return bind(Bytes(value.bytes)); }
  Statement& bind(const Label& value) { return bind(std::string_view(value.text())); }
  Statement& bind(const Code& value) { return bind(std::string_view(value.text())); }
  Statement& bind(Time value) { return bind(std::int64_t{value.time_since_epoch().count()}); }
  Statement& bindNull();
  template <typename T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bindNull();
  }

  // True while there is a row to read.
  bool step();
  // Runs a statement that returns no rows; returns how many rows it changed.
  std::int64_t run();

  // Reads the next column of the current row. A value of another type, or one that breaks its grammar, is
  // kCorrupt.
  std::int64_t integer();
  std::uint64_t unsignedInteger();
  std::uint32_t unsigned32();
  std::int32_t signed32();
  std::string text();
  std::vector<std::uint8_t> blob();
  Digest digest();
  Label label();
  Code code();
  Time time();
  bool isNull() const;  // of the next column; does not move on
  // Skips a null and returns nothing, else reads with the member given: `row.optional(&Statement::label)`.
  template <typename T>
  std::optional<T> optional(T (Statement::*read)()) {
    if (isNull()) return skip(), std::nullopt;
    return (this->*read)();
  }

 private:
  void skip() { ++column_; }
  void check(int code);
  int nextColumn(int type);

  Database& database_;
  sqlite3_stmt* handle_;  // owned by the connection's cache
  std::string_view sql_;
  int parameter_ = 0;
  int column_ = 0;
};

}  // namespace factionos::state
