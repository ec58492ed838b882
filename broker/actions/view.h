#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "broker/policy/operations.h"
#include "broker/policy/policy.h"
#include "broker/state/action_table.h"
#include "protocol/schemas/api.capnp.h"

// Rows of the state as the values of the API. Only labels, codes, counts and times pass; a row has nothing
// else.
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

kj::StringPtr asText(const std::string& text);
capnp::Text::Reader asText(std::string_view text);  // `text` is followed by a NUL or copied by the setter

// "workspace/target", as far as the row has them.
std::optional<audit::Label> targetOf(const state::ActionRow& row);

// What a human is told before an action runs.
struct CardFacts {
  schema::IdempotencyState idempotency = schema::IdempotencyState::WAITING;
};
void fillCard(const state::ActionRow& row, const CardFacts& facts, schema::ConsentCard::Builder card);

// `nonce`: empty unless the reader may approve and the action waits.
void fillAction(const state::ActionRow& row, std::string_view nonce, schema::Action::Builder action);

// Programs that read commands from their terminal, by label.
bool isInteractive(std::string_view programLabel);

inline std::int64_t millis(state::Time time) {
  return time.time_since_epoch().count();
}

}  // namespace factionos::actions
