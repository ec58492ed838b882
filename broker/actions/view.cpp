#include "broker/actions/view.h"

#include <algorithm>
#include <array>
#include <vector>

#include "protocol/interactive_programs.h"


namespace factionos::actions {
namespace {

using redaction::Boundary;
using redaction::Literal;
using redaction::Redactor;

template <typename From, typename To>
struct Pair {
  From from;
  To to;
};
// Clang deduces this for aggregates by itself from 17 on.
template <typename From, typename To>
Pair(From, To) -> Pair<From, To>;

constexpr std::array kStates{
    Pair{state::ActionState::kProposed, schema::ActionState::PROPOSED},
    Pair{state::ActionState::kApproved, schema::ActionState::APPROVED},
    Pair{state::ActionState::kRejected, schema::ActionState::REJECTED},
    Pair{state::ActionState::kExpired, schema::ActionState::EXPIRED},
    Pair{state::ActionState::kExecuting, schema::ActionState::EXECUTING},
    Pair{state::ActionState::kSucceeded, schema::ActionState::SUCCEEDED},
    Pair{state::ActionState::kFailed, schema::ActionState::FAILED},
    Pair{state::ActionState::kTimedOut, schema::ActionState::TIMED_OUT},
    Pair{state::ActionState::kUnknown, schema::ActionState::UNKNOWN},
};

// The sentences of the card. What the approval does not cover is said before it is given.
constexpr Literal kLaterReads =
    "The approval covers the program and script files that were hashed; what the program reads later is not "
    "covered.";
constexpr Literal kTypedLater = "This program is interactive: anything typed into the session later runs.";
constexpr Literal kTypedInput = "Input typed into the session later is covered by this approval.";
constexpr Literal kFullNetwork =
    "The network profile full reaches everything that this machine can reach, services on this machine "
    "included.";
constexpr Literal kOtherPrograms =
    "The approval covers these contents in this one file; what other programs do with the file later is not "
    "covered.";
constexpr Literal kAgentsOwn =
    "The approval covers this template, this image and this workspace; what the agent in the container does "
    "there is not looked at.";
constexpr Literal kEgress =
    "The network profile egress reaches other machines by the engine's network factionos-egress.";
constexpr Literal kShellLine = "A shell line counts as the program sh; policy does not look inside of it.";

std::vector<Literal> terminalNotes(const state::ActionRow& row) {
  std::vector<Literal> notes{kLaterReads};
  const std::string_view program = row.target ? std::string_view(row.target->text()) : std::string_view();
  notes.push_back(isInteractive(program) ? kTypedLater : kTypedInput);
  if (program == "sh") notes.push_back(kShellLine);
  if (row.network && row.network->text() == "full") notes.push_back(kFullNetwork);
  return notes;
}

std::vector<Literal> fileNotes(const state::ActionRow&) {
  return {kOtherPrograms};
}

std::vector<Literal> containerNotes(const state::ActionRow& row) {
  if (row.operation.text() != "run") return {};
  std::vector<Literal> notes{kAgentsOwn};
  if (row.network && row.network->text() == "egress") notes.push_back(kEgress);
  return notes;
}

// What the card of each family says beside its labels and counts.
struct FamilyNotes {
  policy::Family family;
  std::vector<Literal> (*notes)(const state::ActionRow&);
};
constexpr std::array kNotes{
    FamilyNotes{policy::Family::kTerminal, terminalNotes},
    FamilyNotes{policy::Family::kFile, fileNotes},
    FamilyNotes{policy::Family::kContainer, containerNotes},
};

std::vector<Literal> notesOf(const state::ActionRow& row) {
  const auto family = policy::parseFamily(row.family.text());
  for (const auto& each : kNotes) {
    if (family == each.family) return each.notes(row);
  }
  return {};
}

}  // namespace

schema::ActionState toSchema(state::ActionState state) {
  const auto* pair = std::ranges::find_if(kStates, [&](const auto& each) { return each.from == state; });
  return pair == kStates.end() ? schema::ActionState::UNSPECIFIED : pair->to;
}

state::ActionState fromSchema(schema::ActionState state) {
  const auto* pair = std::ranges::find_if(kStates, [&](const auto& each) { return each.to == state; });
  return pair == kStates.end() ? state::ActionState::kProposed : pair->from;
}

schema::Family toSchema(policy::Family family) {
  switch (family) {
    case policy::Family::kFile:
      return schema::Family::FILE;
    case policy::Family::kGit:
      return schema::Family::GIT;
    case policy::Family::kTerminal:
      return schema::Family::TERMINAL;
    case policy::Family::kContainer:
      return schema::Family::CONTAINER;
    case policy::Family::kRemote:
      return schema::Family::REMOTE;
    case policy::Family::kHosted:
      return schema::Family::HOSTED;
  }
  return schema::Family::UNSPECIFIED;
}

schema::Family familyFrom(std::string_view name) {
  const auto family = policy::parseFamily(name);
  return family ? toSchema(*family) : schema::Family::UNSPECIFIED;
}

schema::Risk toSchema(policy::Risk risk) {
  switch (risk) {
    case policy::Risk::kLow:
      return schema::Risk::LOW;
    case policy::Risk::kMedium:
      return schema::Risk::MEDIUM;
    case policy::Risk::kHigh:
      return schema::Risk::HIGH;
  }
  return schema::Risk::UNSPECIFIED;
}

schema::Rollback toSchema(policy::Rollback rollback) {
  switch (rollback) {
    case policy::Rollback::kAutomatic:
      return schema::Rollback::AUTOMATIC;
    case policy::Rollback::kManual:
      return schema::Rollback::MANUAL;
    case policy::Rollback::kNone:
      return schema::Rollback::NONE;
  }
  return schema::Rollback::UNSPECIFIED;
}

schema::Decision toSchema(policy::Verdict verdict) {
  switch (verdict) {
    case policy::Verdict::kAllow:
      return schema::Decision::ALLOW;
    case policy::Verdict::kAsk:
      return schema::Decision::ASK;
    case policy::Verdict::kDeny:
      return schema::Decision::DENY;
  }
  return schema::Decision::UNSPECIFIED;
}

schema::Posture toSchema(policy::Posture posture) {
  switch (posture) {
    case policy::Posture::kAvailable:
      return schema::Posture::AVAILABLE;
    case policy::Posture::kUnavailable:
      return schema::Posture::UNAVAILABLE;
    case policy::Posture::kNonExecuting:
      return schema::Posture::NON_EXECUTING;
    case policy::Posture::kDeferred:
      return schema::Posture::DEFERRED;
    case policy::Posture::kOffline:
      return schema::Posture::OFFLINE;
    case policy::Posture::kAuthRequired:
      return schema::Posture::AUTH_REQUIRED;
    case policy::Posture::kTimeout:
      return schema::Posture::TIMEOUT;
    case policy::Posture::kPolicyBlocked:
      return schema::Posture::POLICY_BLOCKED;
  }
  return schema::Posture::UNSPECIFIED;
}

schema::NetworkProfile networkFrom(std::string_view name) {
  if (name == "loopback") return schema::NetworkProfile::LOOPBACK;
  if (name == "full") return schema::NetworkProfile::FULL;
  if (name == "egress") return schema::NetworkProfile::EGRESS;
  return schema::NetworkProfile::NONE;
}

std::string_view nameOf(schema::NetworkProfile network) {
  switch (network) {
    case schema::NetworkProfile::LOOPBACK:
      return "loopback";
    case schema::NetworkProfile::FULL:
      return "full";
    case schema::NetworkProfile::EGRESS:
      return "egress";
    default:
      return "none";
  }
}

std::optional<audit::Label> targetOf(const state::ActionRow& row) {
  if (!row.workspace) return row.target;
  if (!row.target) return row.workspace;
  return targetOf(row.workspace->text(), *row.target);
}

std::optional<audit::Label> targetOf(std::string_view workspace, const audit::Label& target) {
  auto whole = audit::Label::parse(std::string(workspace) + "/" + target.text());
  return whole ? whole : target;
}

bool isInteractive(std::string_view programLabel) {
  // A file of the workspace is whatever somebody made it.
  if (programLabel.starts_with("workspace")) return true;
  return findInteractiveProgram(programLabel) != nullptr;
}

template <Boundary B>
void fillCard(const state::ActionRow& row, const CardFacts& facts, Outgoing<B, schema::ConsentCard> card) {
  using C = schema::ConsentCard::Builder;
  using R = Redactor<B>;
  card.set(&C::setFamily, familyFrom(row.family.text()));
  card.set(&C::setOperationClass, R::label(audit::Label::of(row.family.text() + "." + row.operation.text())));
  if (const auto target = targetOf(row)) card.set(&C::setTarget, R::label(*target));
  if (const auto family = policy::parseFamily(row.family.text())) {
    if (const auto* operation = policy::findOperation(*family, row.operation.text())) {
      card.set(&C::setRisk, toSchema(operation->risk));
      card.set(&C::setExpectedMutation, R::words(operation->mutation));
      card.set(&C::setRollback, toSchema(operation->rollback));
      if (!operation->guidance.empty()) card.set(&C::setRollbackGuidance, R::words(operation->guidance));
    }
  }
  if (row.risk.text() == "high") card.set(&C::setRisk, schema::Risk::HIGH);
  card.set(&C::setIdempotency, facts.idempotency);
  card.set(&C::setNetworkProfile,
           networkFrom(row.network ? std::string_view(row.network->text()) : std::string_view("none")));
  if (row.target && row.family.text() == "terminal") card.set(&C::setProgram, R::label(*row.target));
  const auto notes = notesOf(row);
  auto list = card.init(&C::initNotes, notes.size());
  for (unsigned i = 0; i < notes.size(); ++i) list.set(i, R::words(notes[i]));
  if (row.changes.empty()) return;
  auto changes = card.init(&C::initChanges, row.changes.size());
  for (unsigned i = 0; i < row.changes.size(); ++i) {
    changes[i].set(&schema::ChangeCount::Builder::setName, R::code(row.changes[i].name));
    changes[i].set(&schema::ChangeCount::Builder::setCount, row.changes[i].count);
  }
}

namespace {

schema::Decision decisionFrom(const audit::Code& decision) {
  if (decision.text() == "allow") return schema::Decision::ALLOW;
  if (decision.text() == "deny") return schema::Decision::DENY;
  return schema::Decision::ASK;
}

schema::IdempotencyState idempotencyOf(state::ActionState state) {
  switch (state) {
    case state::ActionState::kProposed:
    case state::ActionState::kApproved:
      return schema::IdempotencyState::WAITING;
    case state::ActionState::kExecuting:
      return schema::IdempotencyState::IN_FLIGHT;
    default:
      return schema::IdempotencyState::DONE;
  }
}

template <Boundary B>
void fillExit(std::int32_t exit, Outgoing<B, schema::Exit> out) {
  // Above 255: 256 + the number of the signal.
  if (exit >= 256) {
    out.set(&schema::Exit::Builder::setSignal, static_cast<std::uint8_t>(exit - 256));
  } else {
    out.set(&schema::Exit::Builder::setCode, static_cast<std::uint8_t>(exit));
  }
}

}  // namespace

template <Boundary B>
void fillAction(const state::ActionRow& row, const std::optional<redaction::PublicBytes>& nonce,
                Outgoing<B, schema::Action> action) {
  using A = schema::Action::Builder;
  using R = Redactor<B>;
  action.set(&A::setId, R::label(idLabel(row.id)));
  action.set(&A::setRevision, row.revision);
  action.set(&A::setState, toSchema(row.state));
  action.set(&A::setFamily, familyFrom(row.family.text()));
  action.set(&A::setOperation, R::code(row.operation));
  if (row.workspace) action.set(&A::setWorkspace, R::label(*row.workspace));
  if (const auto target = targetOf(row)) action.set(&A::setTarget, R::label(*target));
  action.set(&A::setRequester, R::label(row.principal));
  if (row.approver) action.set(&A::setApprover, R::label(*row.approver));
  if (row.decision) action.set(&A::setDecision, decisionFrom(*row.decision));
  if (row.reason) action.set(&A::setReason, R::code(*row.reason));
  fillCard(row, {.idempotency = idempotencyOf(row.state)}, action.init(&A::initCard));
  action.set(&A::setCreatedAt, millis(row.created));
  action.set(&A::setUpdatedAt, millis(row.updated));
  if (row.expires) action.set(&A::setExpiresAt, millis(*row.expires));
  if (nonce) action.set(&A::setNonce, R::bytes(*nonce));
  if (row.failure) action.set(&A::setFailureCode, R::code(*row.failure));
  if (row.sessionId) action.set(&A::setSessionId, R::label(idLabel(*row.sessionId)));
  action.set(&A::setPolicyRevision, row.policyRevision);
  if (row.exitCode) fillExit(*row.exitCode, action.init(&A::initExit));
}

template void fillCard(const state::ActionRow&, const CardFacts&,
                       Outgoing<Boundary::kApiResponse, schema::ConsentCard>);
template void fillAction(const state::ActionRow&, const std::optional<redaction::PublicBytes>&,
                         Outgoing<Boundary::kApiResponse, schema::Action>);
template void fillCard(const state::ActionRow&, const CardFacts&,
                       Outgoing<Boundary::kWebSocketFrame, schema::ConsentCard>);
template void fillAction(const state::ActionRow&, const std::optional<redaction::PublicBytes>&,
                         Outgoing<Boundary::kWebSocketFrame, schema::Action>);
template void fillCard(const state::ActionRow&, const CardFacts&,
                       Outgoing<Boundary::kCli, schema::ConsentCard>);
template void fillAction(const state::ActionRow&, const std::optional<redaction::PublicBytes>&,
                         Outgoing<Boundary::kCli, schema::Action>);
template void fillCard(const state::ActionRow&, const CardFacts&,
                       Outgoing<Boundary::kStateAtRest, schema::ConsentCard>);
template void fillAction(const state::ActionRow&, const std::optional<redaction::PublicBytes>&,
                         Outgoing<Boundary::kStateAtRest, schema::Action>);

}  // namespace factionos::actions
