#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/state/database.h"

namespace factionos::state {

// A hook event after the redactor: labels and counts alone.
struct EventRow {
  std::string id{};  // "evt_…"
  Label source;
  Code kind;
  std::uint32_t fields = 0;  // how many fields the payload had
  std::uint64_t bytes = 0;   // how large it was
  Time time{};
  Digest dedupe{};  // Purpose::kEvent over its content
};

class EventTable {
 public:
  static constexpr std::uint64_t kMaxRows =
      10'000;  // older ones go first: a record of what happens, not an archive

  explicit EventTable(Database& database) : database_(database) {}

  // False, and nothing written, if an event with this digest is kept already.
  bool insert(const EventRow& row);
  std::optional<EventRow> findByContent(const Digest& dedupe);
  std::vector<EventRow> list(std::string_view before, std::size_t limit);
  // Brings the table down to `keep` rows; returns how many went.
  std::uint64_t trim(std::uint64_t keep = kMaxRows);

 private:
  Database& database_;
};

}  // namespace factionos::state
