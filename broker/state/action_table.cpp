#include "broker/state/action_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace factionos::state {
namespace {

struct Named {
  ActionState state;
  std::string_view name;
};
constexpr std::array<Named, 9> kNames = {{{ActionState::kProposed, "proposed"},
                                          {ActionState::kApproved, "approved"},
                                          {ActionState::kRejected, "rejected"},
                                          {ActionState::kExpired, "expired"},
                                          {ActionState::kExecuting, "executing"},
                                          {ActionState::kSucceeded, "succeeded"},
                                          {ActionState::kFailed, "failed"},
                                          {ActionState::kTimedOut, "timed_out"},
                                          {ActionState::kUnknown, "unknown"}}};

#define FACTIONOS_ACTION_COLUMNS                                                                        \
  "id, revision, state, family, operation, workspace, target, principal, approver, decision, reason, "  \
  "request_digest, policy_revision, program_digest, operand_digests, network, risk, created, updated, " \
  "expires, session_id, failure, exit_code, bytes_in, bytes_out, dropped_bytes, denials, changes"

[[noreturn]] void corrupt() {
  throw StateUnavailable(StateFault::kCorrupt, "state database: an action breaks its own rules");
}

std::vector<std::uint8_t> pack(const std::vector<Digest>& digests) {
  if (digests.size() > ActionTable::kMaxOperands) {
    throw StateUnavailable(StateFault::kUsage, "state database: too many operands");
  }
  std::vector<std::uint8_t> bytes;
  for (const Digest& each : digests) bytes.insert(bytes.end(), each.bytes.begin(), each.bytes.end());
  return bytes;
}

std::vector<Digest> unpack(const std::vector<std::uint8_t>& bytes) {
  std::vector<Digest> digests(bytes.size() / audit::kDigestBytes);
  if (digests.size() * audit::kDigestBytes != bytes.size()) corrupt();
  for (std::size_t i = 0; i < digests.size(); ++i) {
    std::memcpy(digests[i].bytes.data(), bytes.data() + i * audit::kDigestBytes, audit::kDigestBytes);
  }
  return digests;
}

// "files=2 insertions=10": a code holds neither of the two separators.
std::string pack(const std::vector<ChangeCount>& changes) {
  if (changes.size() > ActionTable::kMaxChanges) {
    throw StateUnavailable(StateFault::kUsage, "state database: too many counts of changes");
  }
  std::string text;
  for (const ChangeCount& each : changes) {
    if (!text.empty()) text += ' ';
    text += each.name.text() + '=' + std::to_string(each.count);
  }
  return text;
}

ChangeCount unpackOne(std::string_view text) {
  const std::size_t middle = text.find('=');
  if (middle == std::string_view::npos) corrupt();
  const auto name = Code::parse(text.substr(0, middle));
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data() + middle + 1, text.data() + text.size(), count);
  if (!name || error != std::errc() || end != text.data() + text.size()) corrupt();
  return {.name = *name, .count = count};
}

std::vector<ChangeCount> unpackChanges(std::string_view text) {
  std::vector<ChangeCount> changes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    changes.push_back(unpackOne(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return changes;
}

ActionState readState(Statement& row) {
  const auto state = actionStateFrom(row.text());
  if (!state) corrupt();
  return *state;
}

ActionCounts readCounts(Statement& row) {
  ActionCounts counts;
  counts.bytesIn = row.unsignedInteger();
  counts.bytesOut = row.unsignedInteger();
  counts.droppedBytes = row.unsignedInteger();
  counts.denials = row.unsignedInteger();
  return counts;
}

// Braces evaluate in order, which is the order of the columns.
ActionRow read(Statement& row) {
  return ActionRow{.id = row.text(),
                   .revision = row.unsigned32(),
                   .state = readState(row),
                   .family = row.code(),
                   .operation = row.code(),
                   .workspace = row.optional(&Statement::label),
                   .target = row.optional(&Statement::label),
                   .principal = row.label(),
                   .approver = row.optional(&Statement::label),
                   .decision = row.optional(&Statement::code),
                   .reason = row.optional(&Statement::code),
                   .requestDigest = row.digest(),
                   .policyRevision = row.unsignedInteger(),
                   .programDigest = row.optional(&Statement::digest),
                   .operandDigests = unpack(row.blob()),
                   .network = row.optional(&Statement::code),
                   .risk = row.code(),
                   .created = row.time(),
                   .updated = row.time(),
                   .expires = row.optional(&Statement::time),
                   .sessionId = row.optional(&Statement::text),
                   .failure = row.optional(&Statement::code),
                   .exitCode = row.optional(&Statement::signed32),
                   .counts = readCounts(row),
                   .changes = unpackChanges(row.text())};
}

void bindFilter(Statement& statement, const ActionFilter& filter) {
  if (filter.state) {
    statement.bind(nameOf(*filter.state));
  } else {
    statement.bindNull();
  }
  statement.bind(filter.family).bind(filter.workspace).bind(filter.principal);
}

}  // namespace

std::string_view nameOf(ActionState state) {
  for (const Named& each : kNames) {
    if (each.state == state) return each.name;
  }
  return "unknown";
}

std::optional<ActionState> actionStateFrom(std::string_view name) {
  for (const Named& each : kNames) {
    if (each.name == name) return each.state;
  }
  return std::nullopt;
}

void ActionTable::insert(ActionRow& row) {
  row.revision = 1;
  const std::vector<std::uint8_t> operands = pack(row.operandDigests);
  const std::string changes = pack(row.changes);
  Statement insert(database_,
                   "INSERT INTO actions (" FACTIONOS_ACTION_COLUMNS
                   ") VALUES "
                   "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(row.id).bind(row.revision).bind(nameOf(row.state)).bind(row.family).bind(row.operation);
  insert.bind(row.workspace).bind(row.target).bind(row.principal).bind(row.approver).bind(row.decision);
  insert.bind(row.reason).bind(row.requestDigest).bind(row.policyRevision).bind(row.programDigest);
  insert.bind(Bytes(operands)).bind(row.network).bind(row.risk).bind(row.created).bind(row.updated);
  insert.bind(row.expires).bind(row.sessionId).bind(row.failure).bind(row.exitCode);
  insert.bind(row.counts.bytesIn)
      .bind(row.counts.bytesOut)
      .bind(row.counts.droppedBytes)
      .bind(row.counts.denials)
      .bind(std::string_view(changes));
  insert.run();
}

UpdateResult ActionTable::update(ActionRow& row) {
  const std::vector<std::uint8_t> operands = pack(row.operandDigests);
  Statement update(
      database_,
      "UPDATE actions SET revision = revision + 1, state = ?, target = ?, approver = ?, decision = ?, "
      "reason = ?, policy_revision = ?, program_digest = ?, operand_digests = ?, network = ?, risk = ?, "
      "updated = ?, expires = ?, session_id = ?, failure = ?, exit_code = ?, bytes_in = ?, "
      "bytes_out = ?, dropped_bytes = ?, denials = ? WHERE id = ? AND revision = ?");
  update.bind(nameOf(row.state)).bind(row.target).bind(row.approver).bind(row.decision).bind(row.reason);
  update.bind(row.policyRevision)
      .bind(row.programDigest)
      .bind(Bytes(operands))
      .bind(row.network)
      .bind(row.risk);
  update.bind(row.updated).bind(row.expires).bind(row.sessionId).bind(row.failure).bind(row.exitCode);
  update.bind(row.counts.bytesIn)
      .bind(row.counts.bytesOut)
      .bind(row.counts.droppedBytes)
      .bind(row.counts.denials);
  if (update.bind(row.id).bind(row.revision).run() == 1) {
    ++row.revision;
    return UpdateResult::kUpdated;
  }
  return find(row.id) ? UpdateResult::kStale : UpdateResult::kMissing;
}

std::optional<ActionRow> ActionTable::find(std::string_view id) {
  Statement select(database_, "SELECT " FACTIONOS_ACTION_COLUMNS " FROM actions WHERE id = ?");
  select.bind(id);
  if (!select.step()) return std::nullopt;
  return read(select);
}

ActionPage ActionTable::list(const ActionFilter& filter, std::string_view after, std::size_t limit,
                             ListOrder order) {
  limit = std::clamp<std::size_t>(limit, 1, kMaxPage);
  constexpr std::string_view kNewest =
      "SELECT " FACTIONOS_ACTION_COLUMNS
      " FROM actions WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR family = ?2) "
      "AND (?3 IS NULL OR workspace = ?3) AND (?4 IS NULL OR principal = ?4) "
      "AND (?5 = '' OR id < ?5) ORDER BY id DESC LIMIT ?6";
  constexpr std::string_view kOldest =
      "SELECT " FACTIONOS_ACTION_COLUMNS
      " FROM actions WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR family = ?2) "
      "AND (?3 IS NULL OR workspace = ?3) AND (?4 IS NULL OR principal = ?4) "
      "AND id > ?5 ORDER BY id LIMIT ?6";
  Statement select(database_, order == ListOrder::kNewestFirst ? kNewest : kOldest);
  bindFilter(select, filter);
  select.bind(after).bind(std::uint64_t{limit + 1});  // one more tells whether there is a next page
  ActionPage page;
  while (select.step()) {
    if (page.rows.size() == limit) {
      page.next = page.rows.back().id;
      break;
    }
    page.rows.push_back(read(select));
  }
  return page;
}

std::vector<ActionRow> ActionTable::due(Time now, std::size_t limit) {
  Statement select(database_, "SELECT " FACTIONOS_ACTION_COLUMNS
                              " FROM actions WHERE state IN ('proposed', 'approved') AND expires <= ? "
                              "ORDER BY id LIMIT ?");
  select.bind(now).bind(std::uint64_t{limit});
  std::vector<ActionRow> rows;
  while (select.step()) rows.push_back(read(select));
  return rows;
}

std::uint64_t ActionTable::count(ActionState state) {
  Statement select(database_, "SELECT count(*) FROM actions WHERE state = ?");
  select.bind(nameOf(state));
  return select.step() ? select.unsignedInteger() : 0;
}

std::optional<Time> ActionTable::newest() {
  Statement select(database_, "SELECT max(created) FROM actions");
  if (!select.step()) return std::nullopt;
  return select.optional(&Statement::time);
}

}  // namespace factionos::state
