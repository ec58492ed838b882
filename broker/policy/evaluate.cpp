#include <array>

#include <sodium.h>

#include "broker/policy/grant.h"
#include "broker/policy/policy.h"
#include "broker/policy/rule.h"

namespace factionos::policy {
namespace {

const char* sentence(Cause cause) {
  switch (cause) {
    case Cause::kRule:
      return "a rule of the policy decides so";
    case Cause::kGrant:
      return "the operator granted exactly this for a time";
    case Cause::kSession:
      return "covered by the approval of its session";
    case Cause::kNoRule:
      return "no rule of the policy allows it";
    case Cause::kMalformed:
      return "the request lacks what the policy decides on";
    case Cause::kNoApprover:
      return "the policy asks, and nobody can approve: there is no operator's key";
    case Cause::kNoSession:
      return "only the owner of an approved session may do this";
    case Cause::kOperationUnavailable:
      return "this operation is not available";
  }
  return "";
}

Decision because(Verdict verdict, Cause cause, const Rule* rule = nullptr) {
  Decision decision{verdict, cause, 0, sentence(cause), {}};
  if (rule == nullptr) return decision;
  decision.ruleLine = rule->line;
  if (cause == Cause::kRule && !rule->reason.empty()) decision.reason = rule->reason;
  return decision;
}

bool isNetwork(std::string_view text) {
  return text.empty() || text == "none" || text == "loopback" || text == "full" || text == "egress";
}

// A request that reaches this far without these has been put together wrongly: nothing may match it by
// accident.
bool isWellFormed(const Operation& operation, const Subject& subject) {
  const bool isSystem = subject.program.kind == Program::Kind::kSystem;
  if (isSystem ? !isProgramPath(subject.program.path) : !subject.program.path.empty()) return false;
  const bool starts = subject.family == Family::kTerminal && operation.name == "run";
  if (starts && subject.program.kind == Program::Kind::kNone) return false;
  const bool literalStar = subject.workspace == "*" || subject.principal == "*" || subject.profile == "*";
  return !literalStar && isNetwork(subject.network) && !subject.principal.empty();
}

}  // namespace

const char* label(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllow:
      return "allow";
    case Verdict::kAsk:
      return "ask";
    case Verdict::kDeny:
      return "deny";
  }
  return "deny";
}

const char* label(Cause cause) {
  switch (cause) {
    case Cause::kRule:
      return "policy_rule";
    case Cause::kGrant:
      return "policy_grant";
    case Cause::kSession:
      return "session_approval";
    case Cause::kNoRule:
      return "policy_no_rule";
    case Cause::kMalformed:
      return "policy_malformed";
    case Cause::kNoApprover:
      return "policy_no_approver";
    case Cause::kNoSession:
      return "not_session_owner";
    case Cause::kOperationUnavailable:
      return "operation_unavailable";
  }
  return "";
}

std::string Revision::text() const {
  std::array<char, 17> hex{};
  ::sodium_bin2hex(hex.data(), hex.size(), digest.data(), 8);
  return std::to_string(counter) + "-" + hex.data();
}

const Rule* Policy::firstMatch(const Operation& operation, const Request& request,
                               std::vector<Step>* trace) const {
  for (const Rule& rule : rules_) {
    const std::string_view mismatch = rule.mismatch(operation, request.subject, request.now);
    if (trace != nullptr) trace->push_back({rule.line, mismatch.empty(), mismatch});
    if (mismatch.empty()) return &rule;
  }
  return nullptr;
}

Decision Policy::decide(const Request& request, const GrantList& grants, std::vector<Step>* trace) const {
  const Subject& subject = request.subject;
  const Operation* operation = findOperation(subject.family, subject.operation);
  if (operation == nullptr || operation->posture == Posture::kUnavailable) {
    return because(Verdict::kDeny, Cause::kOperationUnavailable);
  }
  if (!isWellFormed(*operation, subject)) return because(Verdict::kDeny, Cause::kMalformed);
  const bool bySession = operation->decided == Decided::kBySession;
  if (bySession && request.cover == SessionCover::kNone) return because(Verdict::kDeny, Cause::kNoSession);

  const Rule* rule = firstMatch(*operation, request, trace);
  if (rule == nullptr) return because(Verdict::kDeny, Cause::kNoRule);
  if (rule->verdict != Verdict::kAsk) return because(rule->verdict, Cause::kRule, rule);
  if (bySession) return because(Verdict::kAllow, Cause::kSession, rule);
  if (const Grant* grant = grants.find(subject, request.now)) {
    Decision decision = because(Verdict::kAllow, Cause::kGrant, rule);
    decision.grantId = grant->id;
    return decision;
  }
  if (request.approver == Approver::kAbsent) return because(Verdict::kDeny, Cause::kNoApprover, rule);
  return because(Verdict::kAsk, Cause::kRule, rule);
}

Decision Policy::evaluate(const Request& request, const GrantList& grants) const {
  return decide(request, grants, nullptr);
}

bool Policy::allowsAll(Family family, std::string_view operation, std::string_view principal,
                       Time now) const {
  const Operation* row = findOperation(family, operation);
  if (row == nullptr || row->posture == Posture::kUnavailable) return false;
  for (const Rule& rule : rules_) {
    if (!rule.concerns(*row, principal, now)) continue;
    if (rule.verdict != Verdict::kAllow) return false;
    if (rule.isForEverything()) return true;
  }
  return false;
}

Policy::Explanation Policy::explain(const Request& request, const GrantList& grants) const {
  Explanation explanation;
  explanation.decision = decide(request, grants, &explanation.steps);
  return explanation;
}

std::string Policy::Explanation::text() const {
  std::string out;
  for (const Step& step : steps) {
    out += "policy.toml:" + std::to_string(step.line) + ": ";
    out += step.matched ? "matches" : "passed over: " + std::string(step.mismatch) + " differs";
    out += step.mismatch == "until" ? " (it has ended)\n" : "\n";
  }
  out += std::string(label(decision.verdict)) + " (" + label(decision.cause) + "): " + decision.reason + "\n";
  return out;
}

}  // namespace factionos::policy
