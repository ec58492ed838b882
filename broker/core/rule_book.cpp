#include "broker/core/rule_book.h"

#include <cstring>
#include <utility>

#include "broker/state/grant_table.h"
#include "broker/state/meta_table.h"

namespace factionos::broker {
namespace {

using audit::Code;
using audit::Label;

constexpr std::string_view kAnyone = "operator";

// A grant is kept with the keyed digest of its program's path, never with the path; grants are matched by
// what this makes of it.
policy::Program stored(const state::Keys& keys, const policy::Program& program) {
  if (program.kind != policy::Program::Kind::kSystem) return program;
  const auto digest = keys.digest(state::Purpose::kRequest, audit::asBytes("program:" + program.path));
  return policy::Program::system("/" + audit::toHex(digest.bytes));
}

std::optional<audit::Digest> digestOf(const policy::Program& program) {
  if (program.kind != policy::Program::Kind::kSystem) return std::nullopt;
  return audit::digestFromHex(std::string_view(program.path).substr(1));
}

std::optional<Label> labelOf(const std::string& text) {
  return text.empty() ? std::nullopt : Label::parse(text);
}

std::string_view programName(const policy::Program& program) {
  switch (program.kind) {
    case policy::Program::Kind::kShellLine:
      return "sh";
    case policy::Program::Kind::kWorkspace:
      return "workspace";
    case policy::Program::Kind::kSystem:
      return "system";
    case policy::Program::Kind::kNone:
      break;
  }
  return "none";
}

policy::Program programFrom(const state::GrantRow& row) {
  const auto name = row.program ? row.program->text() : std::string();
  if (name == "sh") return policy::Program::shellLine();
  if (name == "workspace") return policy::Program::workspace();
  if (row.programDigest) return policy::Program::system("/" + audit::toHex(row.programDigest->bytes));
  return policy::Program::none();
}

state::GrantRow rowOf(const policy::Grant& grant) {
  const auto& subject = grant.subject;
  return {.family = Code::of(policy::label(subject.family)),
          .operation = Code::of(subject.operation),
          .workspace = labelOf(subject.workspace),
          .principal = labelOf(subject.principal),
          .program = Label::of(programName(subject.program)),
          .programDigest = digestOf(subject.program),
          .network = subject.network.empty() ? std::nullopt : Code::parse(subject.network),
          .grantor = Label::of(kAnyone),
          .until = grant.until,
          .created = grant.created};
}

policy::Grant grantOf(const state::GrantRow& row) {
  policy::Grant grant;
  grant.id = "grt_" + std::to_string(row.id);
  grant.subject.family = policy::parseFamily(row.family.text()).value_or(policy::Family::kTerminal);
  grant.subject.operation = row.operation.text();
  if (row.workspace) grant.subject.workspace = row.workspace->text();
  if (row.principal) grant.subject.principal = row.principal->text();
  grant.subject.program = programFrom(row);
  if (row.network) grant.subject.network = row.network->text();
  grant.subject.profile = "default";
  grant.created = row.created;
  grant.until = row.until;
  grant.grantedBy = row.grantor.text();
  return grant;
}

audit::Record grantRecord(const policy::Grant& grant, const char* decision) {
  return {.family = Code::of(policy::label(grant.subject.family)),
          .operation = Code::of("grant"),
          .requester = Label::of(kAnyone),
          .approver = Label::of(kAnyone),
          .decision = Code::of(decision),
          .idempotency = Code::of("none"),
          .result = Code::of("done"),
          .target = labelOf(grant.subject.principal)};
}

// Enough of the digest to see that the text changed, in the shape of a counter.
std::uint64_t fingerprint(const policy::Revision& revision) {
  std::uint64_t value = 0;
  std::memcpy(&value, revision.digest.data(), sizeof value);
  return value >> 1;
}

}  // namespace

Refused blockedBy(const policy::Decision& decision) {
  Refused refused{.code = schema::ProblemCode::POLICY_BLOCKED, .detail = "No rule of policy.toml allows it."};
  if (decision.cause == policy::Cause::kNoApprover) {
    refused.detail = "Policy asks, and nobody can approve: there is no operator key.";
  } else if (decision.verdict == policy::Verdict::kAsk) {
    refused.detail = {"The rule in line ", decision.ruleLine,
                      " of policy.toml asks, and nobody is asked about what only reads."};
  } else if (decision.ruleLine != 0) {
    refused.detail = {"Denied by the rule in line ", decision.ruleLine, " of policy.toml."};
  }
  return refused;
}

RuleBook::RuleBook(const home::Home& home, const state::Keys& keys, policy::Policy rules,
                   policy::Approver approver)
    : home_(home), keys_(keys), rules_(std::move(rules)), approver_(approver) {}

void RuleBook::restore(state::Transaction& transaction) {
  state::MetaTable meta(transaction.database());
  const auto present = fingerprint(rules_.revision());
  if (meta.get(state::Counter::kPolicyDigest) != present) {
    meta.set(state::Counter::kPolicyDigest, present);
    meta.raise(state::Counter::kPolicyRevision);
  }
  revision_ = meta.get(state::Counter::kPolicyRevision);
  state::GrantTable table(transaction.database());
  table.purge(transaction.now());
  for (const auto& row : table.live(transaction.now())) (void)grants_.add(grantOf(row));
}

policy::Decision RuleBook::evaluate(policy::Subject subject, policy::SessionCover cover) const {
  const policy::Request request{
      .subject = std::move(subject), .now = audit::systemNow(), .approver = approver_, .cover = cover};
  static const policy::GrantList kNoGrants;
  auto decision = rules_.evaluate(request, kNoGrants);
  // Grants know a program by its digest, so they are asked here and not by the policy.
  auto known = request.subject;
  known.program = stored(keys_, known.program);
  if (const auto* grant = grants_.find(known, request.now);
      grant != nullptr &&
      (decision.verdict == policy::Verdict::kAsk || decision.cause == policy::Cause::kNoApprover)) {
    decision.verdict = policy::Verdict::kAllow;
    decision.cause = policy::Cause::kGrant;
    decision.grantId = grant->id;
  }
  return decision;
}

std::optional<Refused> RuleBook::refusedRead(policy::Subject subject) const {
  const auto decision = evaluate(std::move(subject));
  if (decision.verdict == policy::Verdict::kAllow) return std::nullopt;
  return blockedBy(decision);
}

bool RuleBook::mayList(policy::Family family, std::string_view principal) const {
  return rules_.allowsAll(family, "list", principal, audit::systemNow());
}

kj::Promise<home::Result<std::uint64_t>> RuleBook::reload(Core& core) {
  auto loaded = policy::Policy::load(home_, rules_.revision());
  if (!loaded) return home::Result<std::uint64_t>(loaded.problem());
  auto rules = std::make_shared<policy::Policy>(std::move(loaded).value());
  const auto print = fingerprint(rules->revision());
  return commit<std::uint64_t>(core, Step::kPolicyReload,
                               [print](state::Transaction& transaction) {
                                 state::MetaTable meta(transaction.database());
                                 transaction.audit({.family = Code::of("policy"),
                                                    .operation = Code::of("reload"),
                                                    .requester = Label::of(kAnyone),
                                                    .decision = Code::of("none"),
                                                    .idempotency = Code::of("none"),
                                                    .result = Code::of("done")});
                                 if (meta.get(state::Counter::kPolicyDigest) != print) {
                                   meta.set(state::Counter::kPolicyDigest, print);
                                   meta.raise(state::Counter::kPolicyRevision);
                                 }
                                 return meta.get(state::Counter::kPolicyRevision);
                               })
      .then([this, &core, rules](Outcome<std::uint64_t>&& outcome) -> home::Result<std::uint64_t> {
        if (refusedIn(outcome) != nullptr)
          return home::Problem{home::ProblemCode::kIo,
                               "the new policy could not be recorded, so the old one stays",
                               "free disk space and reload"};
        rules_ = std::move(*rules);
        revision_ = std::get<std::uint64_t>(outcome);
        // Logins were judged by the old rules: the next snapshot has the front ask again.
        core.changes.touch();
        return std::uint64_t{revision_};
      });
}

kj::Promise<Outcome<std::string>> RuleBook::addGrant(Core& core, policy::Grant grant) {
  grant.subject.program = stored(core.keys, grant.subject.program);
  // Checked on a copy, so that nothing is written for a grant that the list would not take.
  auto trial = grants_;
  grant.id = "grt_new";
  if (!trial.add(grant))
    return Outcome<std::string>(
        Refused{.code = schema::ProblemCode::INVALID_REQUEST,
                .detail = "The grant names no single available mutation, or its end is not in the future.",
                .field = "grant"});
  struct Added {
    std::int64_t id;
    std::uint64_t revision;
  };
  return commit<Added>(core, Step::kGrantAdd,
                       [grant](state::Transaction& transaction) {
                         auto row = rowOf(grant);
                         state::GrantTable(transaction.database()).insert(row);
                         transaction.audit(grantRecord(grant, "allow"));
                         return Added{
                             row.id,
                             state::MetaTable(transaction.database()).raise(state::Counter::kPolicyRevision)};
                       })
      .then([this, grant](Outcome<Added>&& outcome) mutable -> Outcome<std::string> {
        if (const auto* refused = refusedIn(outcome)) return *refused;
        const auto& added = std::get<Added>(outcome);
        grant.id = "grt_" + std::to_string(added.id);
        revision_ = added.revision;
        (void)grants_.add(grant);
        return grant.id;
      });
}

kj::Promise<Outcome<std::string>> RuleBook::revokeGrant(Core& core, std::string id) {
  const auto all = grants_.all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& grant) { return grant.id == id; });
  if (found == all.end()) return Outcome<std::string>(Refused{.code = schema::ProblemCode::NOT_FOUND});
  const auto number = std::stoll(id.substr(4));
  return commit<std::uint64_t>(
             core, Step::kGrantRemove,
             [grant = *found, number](state::Transaction& transaction) {
               state::GrantTable(transaction.database()).erase(number);
               transaction.audit(grantRecord(grant, "revoke"));
               return state::MetaTable(transaction.database()).raise(state::Counter::kPolicyRevision);
             })
      .then([this, id](Outcome<std::uint64_t>&& outcome) -> Outcome<std::string> {
        if (const auto* refused = refusedIn(outcome)) return *refused;
        revision_ = std::get<std::uint64_t>(outcome);
        grants_.revoke(id);
        return id;
      });
}

}  // namespace factionos::broker
