#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "broker/state/database.h"

namespace factionos::state {

// A rule that the operator added for a time. An absent field matches everything.
struct GrantRow {
  std::int64_t id = 0;  // set by insert()
  Code family;
  Code operation;
  std::optional<Label> workspace{};
  std::optional<Label> principal{};
  std::optional<Label> program{};  // a label of the program, for showing
  std::optional<Digest>
      programDigest{};  // keyed digest of its real path: what is matched (Purpose::kRequest)
  std::optional<Code> network{};
  Label grantor;
  Time until{};
  Time created{};
};

class GrantTable {
 public:
  explicit GrantTable(Database& database) : database_(database) {}

  void insert(GrantRow& row);
  bool erase(std::int64_t id);
  // Grants whose end is after `now`, in the order in which they were made.
  std::vector<GrantRow> live(Time now);
  std::uint64_t purge(Time now);

 private:
  Database& database_;
};

}  // namespace factionos::state
