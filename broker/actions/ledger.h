#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "broker/actions/lifecycle.h"
#include "broker/actions/refusal.h"
#include "broker/state/writer.h"

// Changes of actions inside a mutation: the row and its audit record, always both.
namespace factionos::actions {

using audit::Code;
using audit::Label;

// How the request that led here stands with its idempotency key, for the record.
enum class KeyNote { kNone, kFresh, kWaiting, kInFlight, kDone };

// Inserts `row` in the state that it has (proposed, or approved where policy allowed it) and records policy's
// decision.
void open(state::Transaction& transaction, state::ActionRow& row, KeyNote note);

struct Change {
  Event event = Event::kExpire;
  std::optional<std::uint64_t> expectedRevision;  // of the decider; none: whatever it is now
  std::optional<Label> approver;
  std::optional<Code> decision;  // recorded; none: "none"
  std::optional<Code> failure;
  std::optional<std::int32_t> exitCode;
  std::optional<std::string> sessionId;
  std::optional<state::Time> expires;  // a new end of waiting
  std::optional<state::ActionCounts> counts;
  KeyNote note = KeyNote::kNone;
};

// Applies it and returns the row as it is now. Throws Refusal: not_found, stale_revision (with the current
// one), and where the life of an action does not allow the event the code that fits its state.
state::ActionRow apply(state::Transaction& transaction, std::string_view id, const Change& change);

// A record that belongs to no action: a denied request, a token, a grant, a policy load.
void note(state::Transaction& transaction, audit::Record record);

// The conflict that a state answers with: rejected, approval_expired, approval_used, already_decided …
Refused conflictOf(const state::ActionRow& row);

}  // namespace factionos::actions
