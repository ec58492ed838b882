#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/state/database.h"

namespace factionos::state {

enum class ActionState {
  kProposed,
  kApproved,
  kRejected,
  kExpired,
  kExecuting,
  kSucceeded,
  kFailed,
  kTimedOut,
  kUnknown,
};

std::string_view nameOf(ActionState state);  // "proposed" … "timed_out", as in the contract
std::optional<ActionState> actionStateFrom(std::string_view name);

struct ActionCounts {
  std::uint64_t bytesIn = 0;
  std::uint64_t bytesOut = 0;
  std::uint64_t droppedBytes = 0;
  std::uint64_t denials = 0;
};

// One number of what an action is going to change, as its dry run counted it.
struct ChangeCount {
  Code name;
  std::uint64_t count = 0;
  friend bool operator==(const ChangeCount&, const ChangeCount&) = default;
};

struct ActionRow {
  std::string id{};            // "act_…", from IdGenerator
  std::uint32_t revision = 1;  // set by insert() and update()
  ActionState state = ActionState::kProposed;
  Code family;
  Code operation;
  std::optional<Label> workspace{};
  std::optional<Label> target{};
  Label principal;
  std::optional<Label> approver{};
  std::optional<Code> decision{};  // allow, ask, deny, approve, reject
  std::optional<Code> reason{};
  Digest requestDigest{};  // Purpose::kRequest
  std::uint64_t policyRevision = 0;
  std::optional<Digest> programDigest{};
  std::vector<Digest> operandDigests{};  // at most kMaxOperands, in operand order
  std::optional<Code> network{};
  Code risk;
  Time created{};
  Time updated{};
  std::optional<Time> expires{};  // of the approval or of the wait for one
  std::optional<std::string> sessionId{};
  std::optional<Code> failure{};
  std::optional<std::int32_t> exitCode{};
  ActionCounts counts{};
  std::vector<ChangeCount> changes{};  // at most kMaxChanges; never changes
};

struct ActionFilter {
  std::optional<ActionState> state{};
  std::optional<Code> family{};
  std::optional<Label> workspace{};
  std::optional<Label> principal{};
};

enum class ListOrder { kOldestFirst, kNewestFirst };

struct ActionPage {
  std::vector<ActionRow> rows{};
  std::optional<std::string> next{};  // give it as `after` to read on; nothing at the end
};

enum class UpdateResult { kUpdated, kStale, kMissing };

// Rows of `actions`, over either connection; members that change rows need the writer's, inside a mutation.
// Throws StateUnavailable.
class ActionTable {
 public:
  static constexpr std::size_t kMaxOperands = 16;
  static constexpr std::size_t kMaxChanges = 16;
  static constexpr std::size_t kMaxPage = 500;

  explicit ActionTable(Database& database) : database_(database) {}

  // Sets revision 1. kConstraint if the id exists.
  void insert(ActionRow& row);
  // Writes all of `row` but what never changes (id, family, operation, workspace, principal, request digest,
  // created, changes) if the stored revision is `row.revision`, and raises both by one; else changes nothing.
  UpdateResult update(ActionRow& row);

  std::optional<ActionRow> find(std::string_view id);
  // `after`: id of the last row of the page before, or empty. `limit`: 1 to kMaxPage, clamped.
  ActionPage list(const ActionFilter& filter, std::string_view after, std::size_t limit,
                  ListOrder order = ListOrder::kNewestFirst);
  // Proposed and approved actions whose time is over, oldest first.
  std::vector<ActionRow> due(Time now, std::size_t limit);
  std::uint64_t count(ActionState state);
  std::optional<Time> newest();

 private:
  Database& database_;
};

}  // namespace factionos::state
