#include "broker/state/statement.h"

#include <cstring>
#include <utility>

#include <sqlite3.h>

#include "broker/state/database.h"
#include "broker/state/sqlite_error.h"

namespace factionos::state {
namespace {

[[noreturn]] void corrupt() {
  throw StateUnavailable(StateFault::kCorrupt, "state database: a row holds what its column may not");
}

}  // namespace

Statement::Statement(Database& database, std::string_view sql)
    : database_(database), handle_(database.borrow(sql)), sql_(sql) {}

Statement::~Statement() {
  database_.giveBack(sql_, handle_);
}

void Statement::check(int code) {
  checkSqlite(code);
}

Statement& Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(handle_, ++parameter_, value));
  return *this;
}

Statement& Statement::bind(std::uint64_t value) {
  if (!std::in_range<std::int64_t>(value)) {
    throw StateUnavailable(StateFault::kUsage, "state database: a number is too large to be kept");
  }
  return bind(static_cast<std::int64_t>(value));
}

Statement& Statement::bind(std::string_view value) {
  check(sqlite3_bind_text64(handle_, ++parameter_, value.data() != nullptr ? value.data() : "", value.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(Bytes value) {
  const int index = ++parameter_;
  // A null pointer would bind NULL instead of no bytes.
  check(value.empty() ? sqlite3_bind_zeroblob(handle_, index, 0)
                      : sqlite3_bind_blob64(handle_, index, value.data(), value.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bindNull() {
  check(sqlite3_bind_null(handle_, ++parameter_));
  return *this;
}

bool Statement::step() {
  column_ = 0;
  const int code = sqlite3_step(handle_);
  check(code);
  return code == SQLITE_ROW;
}

std::int64_t Statement::run() {
  while (step()) {
  }
  return database_.changes();
}

int Statement::nextColumn(int type) {
  if (sqlite3_column_type(handle_, column_) != type) corrupt();
  return column_++;
}

std::int64_t Statement::integer() {
  return sqlite3_column_int64(handle_, nextColumn(SQLITE_INTEGER));
}

std::uint64_t Statement::unsignedInteger() {
  const std::int64_t value = integer();
  if (value < 0) corrupt();
  return static_cast<std::uint64_t>(value);
}

std::uint32_t Statement::unsigned32() {
  const std::int64_t value = integer();
  if (!std::in_range<std::uint32_t>(value)) corrupt();
  return static_cast<std::uint32_t>(value);
}

std::int32_t Statement::signed32() {
  const std::int64_t value = integer();
  if (!std::in_range<std::int32_t>(value)) corrupt();
  return static_cast<std::int32_t>(value);
}

std::string Statement::text() {
  const int column = nextColumn(SQLITE_TEXT);
  const unsigned char* data = sqlite3_column_text(handle_, column);
  if (data == nullptr) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::vector<std::uint8_t> Statement::blob() {
  const int column = nextColumn(SQLITE_BLOB);
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(handle_, column));
  const int size = sqlite3_column_bytes(handle_, column);
  if (data == nullptr) return {};
  return {data, data + size};
}

Digest Statement::digest() {
  const std::vector<std::uint8_t> bytes = blob();
  Digest value;
  if (bytes.size() != value.bytes.size()) corrupt();
  std::memcpy(value.bytes.data(), bytes.data(), bytes.size());
  return value;
}

Label Statement::label() {
  auto value = Label::parse(text());
  if (!value) corrupt();
  return *std::move(value);
}

Code Statement::code() {
  auto value = Code::parse(text());
  if (!value) corrupt();
  return *std::move(value);
}

Time Statement::time() {
  return Time(std::chrono::milliseconds(integer()));
}

bool Statement::isNull() const {
  return sqlite3_column_type(handle_, column_) == SQLITE_NULL;
}

}  // namespace factionos::state
