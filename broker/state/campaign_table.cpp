#include "broker/state/campaign_table.h"

#include <algorithm>

namespace factionos::state {
namespace {

#define FACTIONOS_CAMPAIGN_COLUMNS "id, revision, name, principal, created, updated"

CampaignRow read(Statement& row) {
  return CampaignRow{.id = row.text(),
                     .revision = row.unsigned32(),
                     .name = row.label(),
                     .principal = row.label(),
                     .created = row.time(),
                     .updated = row.time()};
}

}  // namespace

void CampaignTable::insert(const CampaignRow& row) {
  Statement insert(database_,
                   "INSERT INTO campaigns (" FACTIONOS_CAMPAIGN_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?)");
  insert.bind(row.id).bind(row.revision).bind(row.name).bind(row.principal);
  insert.bind(row.created).bind(row.updated).run();
}

bool CampaignTable::touch(std::string_view id, Time now) {
  Statement update(database_, "UPDATE campaigns SET revision = revision + 1, updated = ? WHERE id = ?");
  return update.bind(now).bind(id).run() == 1;
}

std::optional<CampaignRow> CampaignTable::find(std::string_view id) {
  Statement select(database_, "SELECT " FACTIONOS_CAMPAIGN_COLUMNS " FROM campaigns WHERE id = ?");
  select.bind(id);
  if (!select.step()) return std::nullopt;
  return read(select);
}

std::vector<CampaignRow> CampaignTable::list(std::string_view before, std::size_t limit) {
  Statement select(database_, "SELECT " FACTIONOS_CAMPAIGN_COLUMNS
                              " FROM campaigns WHERE ?1 = '' OR id < ?1 ORDER BY id DESC LIMIT ?2");
  select.bind(before).bind(std::uint64_t{std::min(limit, kMaxPage)});
  std::vector<CampaignRow> rows;
  while (select.step()) rows.push_back(read(select));
  return rows;
}

}  // namespace factionos::state
