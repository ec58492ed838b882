#include "broker/state/task_table.h"

#include <algorithm>

#include "broker/state/task_attempts.h"

namespace factionos::state {
namespace {

#define FACTIONOS_TASK_COLUMNS                                                                      \
  "id, revision, campaign_id, name, template, workspace, network, timeout_ms, principal, attempt, " \
  "action_id, cancelled, created, updated"

// A need is met by success alone. One that was cancelled, or whose action can't succeed any more, waits for
// somebody to retry it.
#define FACTIONOS_STANDING                                                                               \
  "SELECT t.id, t.revision, t.campaign_id, t.name, t.template, t.workspace, t.network, t.timeout_ms, "   \
  "t.principal, t.attempt, t.action_id, t.cancelled, t.created, t.updated, a.state, a.failure, "         \
  "a.exit_code, (SELECT count(*) FROM task_needs n WHERE n.task_id = t.id), "                            \
  "(SELECT count(*) FROM task_needs n JOIN tasks o ON o.id = n.needs_id LEFT JOIN actions b ON b.id = "  \
  "o.action_id WHERE n.task_id = t.id AND coalesce(b.state, '') <> 'succeeded'), "                       \
  "(SELECT count(*) FROM task_needs n JOIN tasks o ON o.id = n.needs_id LEFT JOIN actions b ON b.id = "  \
  "o.action_id WHERE n.task_id = t.id AND coalesce(b.state, '') <> 'succeeded' AND (o.cancelled = 1 OR " \
  "b.state IN ('rejected', 'expired', 'failed', 'timed_out'))) "                                         \
  "FROM tasks t LEFT JOIN actions a ON a.id = t.action_id "

// By its action, or cancelled before there was one that did anything.
#define FACTIONOS_ENDED                                                                     \
  "FROM tasks t LEFT JOIN actions a ON a.id = t.action_id WHERE (coalesce(a.state, '') IN " \
  "('succeeded', 'failed', 'timed_out', 'rejected', 'expired') OR (t.cancelled = 1 AND "    \
  "coalesce(a.state, '') NOT IN ('executing', 'unknown'))) "

[[noreturn]] void corrupt() {
  throw StateUnavailable(StateFault::kCorrupt, "state database: a task breaks its own rules");
}

TaskRow readRow(Statement& row) {
  return TaskRow{.id = row.text(),
                 .revision = row.unsigned32(),
                 .campaignId = row.optional(&Statement::text),
                 .name = row.label(),
                 .templateId = row.label(),
                 .workspace = row.label(),
                 .network = row.code(),
                 .timeoutMs = row.unsigned32(),
                 .principal = row.label(),
                 .attempt = row.unsigned32(),
                 .actionId = row.optional(&Statement::text),
                 .cancelled = row.integer() != 0,
                 .created = row.time(),
                 .updated = row.time()};
}

TaskStanding read(Statement& row) {
  TaskStanding standing{.row = readRow(row)};
  if (const auto state = row.optional(&Statement::text)) {
    standing.action = actionStateFrom(*state);
    if (!standing.action) corrupt();
  }
  standing.failure = row.optional(&Statement::code);
  if (const auto exit = row.optional(&Statement::integer))
    standing.exitCode = static_cast<std::int32_t>(*exit);
  standing.needs = row.unsigned32();
  standing.needsUnmet = row.unsigned32();
  standing.needsFailed = row.unsigned32();
  return standing;
}

std::vector<TaskStanding> readAll(Statement& select) {
  std::vector<TaskStanding> rows;
  while (select.step()) rows.push_back(read(select));
  return rows;
}

std::optional<TaskStanding> readOne(Statement& select) {
  if (!select.step()) return std::nullopt;
  return read(select);
}

std::uint64_t number(Database& database, std::string_view sql) {
  Statement select(database, sql);
  return select.step() ? select.unsignedInteger() : 0;
}

}  // namespace

void TaskTable::insert(const TaskRow& row) {
  Statement insert(database_, "INSERT INTO tasks (" FACTIONOS_TASK_COLUMNS
                              ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(row.id).bind(row.revision).bind(row.campaignId).bind(row.name).bind(row.templateId);
  insert.bind(row.workspace).bind(row.network).bind(row.timeoutMs).bind(row.principal).bind(row.attempt);
  insert.bind(row.actionId).bind(std::int64_t{row.cancelled}).bind(row.created).bind(row.updated).run();
}

UpdateResult TaskTable::update(TaskRow& row) {
  Statement update(database_,
                   "UPDATE tasks SET revision = revision + 1, attempt = ?, action_id = ?, cancelled = ?, "
                   "updated = ? WHERE id = ? AND revision = ?");
  update.bind(row.attempt).bind(row.actionId).bind(std::int64_t{row.cancelled}).bind(row.updated);
  if (update.bind(row.id).bind(row.revision).run() == 1) {
    ++row.revision;
    if (row.actionId)
      TaskAttempts(database_).remember(*row.actionId, {.taskId = row.id, .attempt = row.attempt});
    return UpdateResult::kUpdated;
  }
  return find(row.id) ? UpdateResult::kStale : UpdateResult::kMissing;
}

void TaskTable::need(std::string_view task, std::string_view needed) {
  Statement insert(database_, "INSERT INTO task_needs (task_id, needs_id) VALUES (?, ?)");
  insert.bind(task).bind(needed).run();
}

std::vector<std::string> TaskTable::needsOf(std::string_view task) {
  Statement select(database_, "SELECT needs_id FROM task_needs WHERE task_id = ? ORDER BY needs_id");
  select.bind(task);
  std::vector<std::string> ids;
  while (select.step()) ids.push_back(select.text());
  return ids;
}

std::optional<TaskStanding> TaskTable::find(std::string_view id) {
  Statement select(database_, FACTIONOS_STANDING "WHERE t.id = ?");
  select.bind(id);
  return readOne(select);
}

std::optional<TaskStanding> TaskTable::findByAction(std::string_view actionId) {
  Statement select(database_, FACTIONOS_STANDING "WHERE t.action_id = ?");
  select.bind(actionId);
  return readOne(select);
}

std::vector<TaskStanding> TaskTable::list(const TaskFilter& filter, std::string_view before,
                                          std::size_t limit) {
  Statement select(database_, FACTIONOS_STANDING
                   "WHERE (?1 IS NULL OR t.campaign_id = ?1) AND (?2 = '' OR t.id < ?2) "
                   "ORDER BY t.id DESC LIMIT ?3");
  select.bind(filter.campaignId).bind(before).bind(std::uint64_t{std::min(limit, kMaxPage)});
  return readAll(select);
}

std::vector<TaskStanding> TaskTable::ofCampaign(std::string_view campaignId) {
  Statement select(database_, FACTIONOS_STANDING "WHERE t.campaign_id = ? ORDER BY t.id");
  select.bind(campaignId);
  return readAll(select);
}

std::uint64_t TaskTable::count() {
  return number(database_, "SELECT count(*) FROM tasks");
}

std::uint64_t TaskTable::open() {
  return number(database_,
                "SELECT count(*) FROM tasks t LEFT JOIN actions a ON a.id = t.action_id WHERE "
                "coalesce(a.state, '') IN ('executing', 'unknown') OR (t.cancelled = 0 AND "
                "coalesce(a.state, '') IN ('', 'proposed', 'approved'))");
}

std::uint64_t TaskTable::trim(std::uint64_t keep) {
  const auto rows = count();
  if (rows <= keep) return 0;
  Statement needs(database_, "DELETE FROM task_needs WHERE task_id IN (SELECT t.id " FACTIONOS_ENDED
                             "AND NOT EXISTS (SELECT 1 FROM task_needs n WHERE n.needs_id = t.id) "
                             "ORDER BY t.id LIMIT ?)");
  needs.bind(rows - keep).run();
  Statement tasks(database_, "DELETE FROM tasks WHERE id IN (SELECT t.id " FACTIONOS_ENDED
                             "AND NOT EXISTS (SELECT 1 FROM task_needs n WHERE n.needs_id = t.id OR "
                             "n.task_id = t.id) ORDER BY t.id LIMIT ?)");
  tasks.bind(rows - keep).run();
  const auto erased = static_cast<std::uint64_t>(database_.changes());
  database_.execute(
      "DELETE FROM campaigns WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.campaign_id = "
      "campaigns.id)");
  return erased;
}

std::optional<Time> TaskTable::newest() {
  Statement select(database_, "SELECT max(created) FROM tasks");
  if (!select.step()) return std::nullopt;
  return select.optional(&Statement::time);
}

}  // namespace factionos::state
