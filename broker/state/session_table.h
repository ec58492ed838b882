#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/state/database.h"

namespace factionos::state {

// Summary of a terminal session: counts and times, never output or input.
struct SessionRow {
  std::string id{};  // "ses_…"
  std::string actionId{};
  Code state;
  std::uint64_t bytesIn = 0;
  std::uint64_t bytesOut = 0;
  std::uint64_t droppedBytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t denials = 0;
  Time started{};
  std::optional<Time> ended{};
};

class SessionTable {
 public:
  explicit SessionTable(Database& database) : database_(database) {}

  void insert(const SessionRow& row);
  bool update(const SessionRow& row);  // state, counts, end
  std::optional<SessionRow> find(std::string_view id);
  // Newest first, ids below `before` (empty: from the newest).
  std::vector<SessionRow> list(std::string_view before, std::size_t limit);
  std::vector<SessionRow> unfinished();

 private:
  Database& database_;
};

}  // namespace factionos::state
