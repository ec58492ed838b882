#include "broker/actions/view.h"

#include <algorithm>
#include <array>
#include <vector>

namespace factionos::actions {
namespace {

template <typename From, typename To>
struct Pair {
  From from;
  To to;
};

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

constexpr std::array<std::string_view, 14> kInteractive{"bash", "sh",      "dash", "zsh",    "fish",
                                                        "ksh",  "python3", "node", "python", "irb",
                                                        "lua",  "psql",    "gdb",  "tmux"};

// The sentences of the card. What the approval does not cover is said before it is given.
constexpr std::string_view kLaterReads =
    "The approval covers the program and script files that were hashed; what the program reads later is not "
    "covered.";
constexpr std::string_view kTypedLater =
    "This program is interactive: anything typed into the session later runs.";
constexpr std::string_view kTypedInput = "Input typed into the session later is covered by this approval.";
constexpr std::string_view kFullNetwork =
    "The network profile full reaches everything that this machine can reach, services on this machine "
    "included.";
constexpr std::string_view kShellLine =
    "A shell line counts as the program sh; policy does not look inside of it.";

std::vector<std::string_view> notesOf(const state::ActionRow& row) {
  std::vector<std::string_view> notes{kLaterReads};
  const std::string_view program = row.target ? std::string_view(row.target->text()) : std::string_view();
  notes.push_back(isInteractive(program) ? kTypedLater : kTypedInput);
  if (program == "sh") notes.push_back(kShellLine);
  if (row.network && row.network->text() == "full") notes.push_back(kFullNetwork);
  return notes;
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
  return schema::NetworkProfile::NONE;
}

std::string_view nameOf(schema::NetworkProfile network) {
  switch (network) {
    case schema::NetworkProfile::LOOPBACK:
      return "loopback";
    case schema::NetworkProfile::FULL:
      return "full";
    default:
      return "none";
  }
}

kj::StringPtr asText(const std::string& text) {
  return {text.c_str(), text.size()};
}
capnp::Text::Reader asText(std::string_view text) {
  return kj::StringPtr(text.data(), text.size());
}

std::optional<audit::Label> targetOf(const state::ActionRow& row) {
  if (!row.workspace) return row.target;
  if (!row.target) return row.workspace;
  return audit::Label::parse(row.workspace->text() + "/" + row.target->text());
}

bool isInteractive(std::string_view programLabel) {
  return std::ranges::find(kInteractive, programLabel) != kInteractive.end();
}

void fillCard(const state::ActionRow& row, const CardFacts& facts, schema::ConsentCard::Builder card) {
  card.setFamily(familyFrom(row.family.text()));
  card.setOperationClass(asText(row.family.text() + "." + row.operation.text()));
  if (const auto target = targetOf(row)) card.setTarget(asText(target->text()));
  if (const auto family = policy::parseFamily(row.family.text())) {
    if (const auto* operation = policy::findOperation(*family, row.operation.text())) {
      card.setRisk(toSchema(operation->risk));
      card.setExpectedMutation(asText(std::string(operation->mutation)));
      card.setRollback(toSchema(operation->rollback));
      if (!operation->guidance.empty()) card.setRollbackGuidance(asText(std::string(operation->guidance)));
    }
  }
  if (row.risk.text() == "high") card.setRisk(schema::Risk::HIGH);
  card.setIdempotency(facts.idempotency);
  card.setNetworkProfile(networkFrom(row.network ? std::string_view(row.network->text()) : "none"));
  if (row.target) card.setProgram(asText(row.target->text()));
  const auto notes = notesOf(row);
  auto list = card.initNotes(static_cast<unsigned>(notes.size()));
  for (unsigned i = 0; i < notes.size(); ++i) list.set(i, asText(std::string(notes[i])));
}

void fillAction(const state::ActionRow& row, std::string_view nonce, schema::Action::Builder action) {
  action.setId(asText(row.id));
  action.setRevision(row.revision);
  action.setState(toSchema(row.state));
  action.setFamily(familyFrom(row.family.text()));
  action.setOperation(asText(row.operation.text()));
  if (row.workspace) action.setWorkspace(asText(row.workspace->text()));
  if (const auto target = targetOf(row)) action.setTarget(asText(target->text()));
  action.setRequester(asText(row.principal.text()));
  if (row.approver) action.setApprover(asText(row.approver->text()));
  if (row.decision) {
    const auto& decision = row.decision->text();
    action.setDecision(decision == "allow"  ? schema::Decision::ALLOW
                       : decision == "deny" ? schema::Decision::DENY
                                            : schema::Decision::ASK);
  }
  if (row.reason) action.setReason(asText(row.reason->text()));
  fillCard(
      row,
      {.idempotency = row.state == state::ActionState::kProposed || row.state == state::ActionState::kApproved
                          ? schema::IdempotencyState::WAITING
                      : row.state == state::ActionState::kExecuting ? schema::IdempotencyState::IN_FLIGHT
                                                                    : schema::IdempotencyState::DONE},
      action.initCard());
  action.setCreatedAt(millis(row.created));
  action.setUpdatedAt(millis(row.updated));
  if (row.expires) action.setExpiresAt(millis(*row.expires));
  if (!nonce.empty()) action.setNonce(asText(std::string(nonce)));
  if (row.failure) action.setFailureCode(asText(row.failure->text()));
  if (row.sessionId) action.setSessionId(asText(*row.sessionId));
  action.setPolicyRevision(row.policyRevision);
  if (row.exitCode) {
    // Above 255: 256 + the number of the signal.
    const auto exit = *row.exitCode;
    auto builder = action.initExit();
    if (exit >= 256) {
      builder.setSignal(static_cast<std::uint8_t>(exit - 256));
    } else {
      builder.setCode(static_cast<std::uint8_t>(exit));
    }
  }
}

}  // namespace factionos::actions
