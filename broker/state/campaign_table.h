#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/state/database.h"

namespace factionos::state {

// A named set of tasks. What became of it is what became of them.
struct CampaignRow {
  std::string id{};            // "cmp_…"
  std::uint32_t revision = 1;  // raised by every order to the campaign or to one of its tasks
  Label name;
  Label principal;
  Time created{};
  Time updated{};
};

class CampaignTable {
 public:
  static constexpr std::size_t kMaxPage = 200;

  explicit CampaignTable(Database& database) : database_(database) {}

  void insert(const CampaignRow& row);
  // Raises the revision; false if there is no such row.
  bool touch(std::string_view id, Time now);
  std::optional<CampaignRow> find(std::string_view id);
  // Newest first, those older than `before` (empty: all).
  std::vector<CampaignRow> list(std::string_view before, std::size_t limit);

 private:
  Database& database_;
};

}  // namespace factionos::state
