#pragma once

#include <optional>
#include <string_view>

#include "broker/actions/outgoing.h"
#include "broker/policy/operations.h"
#include "broker/policy/policy.h"
#include "broker/state/action_table.h"
#include "protocol/schemas/api.capnp.h"

// Rows of the state as values of the API, for every boundary that shows them.
namespace factionos::actions {

schema::ActionState toSchema(state::ActionState state);
state::ActionState fromSchema(schema::ActionState state);  // unspecified: kProposed
schema::Family familyFrom(std::string_view name);
schema::Family toSchema(policy::Family family);
schema::Risk toSchema(policy::Risk risk);
schema::Rollback toSchema(policy::Rollback rollback);
schema::Decision toSchema(policy::Verdict verdict);
schema::Posture toSchema(policy::Posture posture);
schema::NetworkProfile networkFrom(std::string_view name);
std::string_view nameOf(schema::NetworkProfile network);  // unspecified: "none"

// "workspace/target" as far as both are there and have room in one label, else the target alone.
std::optional<audit::Label> targetOf(const state::ActionRow& row);
std::optional<audit::Label> targetOf(std::string_view workspace, const audit::Label& target);

// What a human is told before an action runs.
struct CardFacts {
  schema::IdempotencyState idempotency = schema::IdempotencyState::WAITING;
};
template <redaction::Boundary B>
void fillCard(const state::ActionRow& row, const CardFacts& facts, Outgoing<B, schema::ConsentCard> card);

// `nonce`: nothing unless the reader may approve and the action waits. Both for kApiResponse,
// kWebSocketFrame, kCli and kStateAtRest.
template <redaction::Boundary B>
void fillAction(const state::ActionRow& row, const std::optional<redaction::PublicBytes>& nonce,
                Outgoing<B, schema::Action> action);

// Programs that may run what is typed into their terminal, by label; those of the workspace all.
bool isInteractive(std::string_view programLabel);

// An id of ours as a label. Throws InvalidLabel for anything that is none.
inline audit::Label idLabel(std::string_view id) {
  return audit::Label::of(id);
}

inline std::int64_t millis(state::Time time) {
  return time.time_since_epoch().count();
}

}  // namespace factionos::actions
