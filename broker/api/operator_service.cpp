#include "broker/api/operator_service.h"

#include <array>
#include <memory>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "broker/actions/ledger.h"
#include "broker/actions/view.h"
#include "broker/api/audit_view.h"
#include "broker/api/snapshot.h"
#include "broker/api/tokens.h"
#include "broker/audit/reader.h"
#include "broker/core/log.h"
#include "broker/redaction/redactor.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using redaction::Boundary;
using redaction::Category;
using redaction::Literal;
using redaction::PublicBytes;
using Redactor = redaction::Redactor<Boundary::kCli>;
using schema::ProblemCode;

constexpr std::size_t kMaxRevealShown = 64 * 1024;

template <typename Context>
using ResultsOf = std::decay_t<decltype(std::declval<Context&>().getResults())>;

// Everything that leaves here is for the operator's CLI.
template <typename Context>
auto reply(Context& context) {
  return actions::reply<Boundary::kCli>(context);
}

template <typename Context>
void refuse(Context& context, const Refused& refused) {
  actions::fill(refused, reply(context).init(&ResultsOf<Context>::initProblem));
}

// A connection that has proven the operator's key.
class OperatorService final : public schema::Operator::Server {
 public:
  explicit OperatorService(Services& services) : services_(services) {}

 protected:
  kj::Promise<void> actions(ActionsContext context) override {
    state::ActionFilter filter;
    const auto state = context.getParams().getState();
    if (state != schema::ActionState::UNSPECIFIED) filter.state = actions::fromSchema(state);
    const auto page = services_.actions.list(filter, {}, state::ActionTable::kMaxPage);
    auto list = reply(context).init(&ResultsOf<ActionsContext>::initActions, page.rows.size());
    for (unsigned i = 0; i < page.rows.size(); ++i) actions::fillAction(page.rows[i], {}, list[i]);
    return kj::READY_NOW;
  }

  kj::Promise<void> action(ActionContext context) override {
    const auto row = services_.actions.find(view(context.getParams().getId()));
    if (!row) {
      refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
      return kj::READY_NOW;
    }
    const auto nonce = services_.actions.nonceOf(*row);
    actions::fillAction(*row, nonce ? std::optional(PublicBytes::base64Url(*nonce)) : std::nullopt,
                        reply(context).init(&ResultsOf<ActionContext>::initAction));
    return kj::READY_NOW;
  }

  kj::Promise<void> decide(DecideContext context) override {
    const auto params = context.getParams();
    const auto verdict = params.getVerdict();
    const auto row = services_.actions.find(view(params.getId()));
    if (!row) {
      refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
      return kj::READY_NOW;
    }
    if (verdict != schema::Verdict::APPROVE && verdict != schema::Verdict::REJECT) {
      refuse(context, {.code = ProblemCode::INVALID_REQUEST, .field = "verdict"});
      return kj::READY_NOW;
    }
    const auto reason = audit::Code::parse(view(params.getReason()));
    if (params.getReason().size() > 0 && !reason) {
      refuse(context, {.code = ProblemCode::INVALID_LABEL, .field = "reason"});
      return kj::READY_NOW;
    }
    if (const auto missing = unproven(*row, params)) {
      refuse(context, *missing);
      return kj::READY_NOW;
    }
    return services_.actions
        .decide({.id = row->id,
                 .expectedRevision = params.getExpectedRevision(),
                 .verdict = verdict,
                 .approver = identity::operatorPrincipal().id(),
                 .reason = reason})
        .then([context](Outcome<state::ActionRow>&& outcome) mutable {
          if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
          actions::fillAction(std::get<state::ActionRow>(outcome), {},
                              reply(context).init(&ResultsOf<DecideContext>::initAction));
        });
  }

  kj::Promise<void> reveal(RevealContext context) override {
    const auto id = view(context.getParams().getId());
    const auto* text = services_.actions.revealed(id);
    if (text == nullptr) {
      refuse(
          context,
          {.code = ProblemCode::NOT_FOUND,
           .detail = "Only what waits can be revealed, from the memory of the broker that took the request.",
           .field = "id"});
      return kj::READY_NOW;
    }
    const auto row = services_.actions.find(id);
    if (!row) {
      refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
      return kj::READY_NOW;
    }
    const auto shown = Redactor::forOperator<Category::kCommand>(*text, kMaxRevealShown);
    const auto total = text->size();
    // Who looked is on record before anything is shown.
    audit::Record record{.actionId = row->id,
                         .revision = row->revision,
                         .family = row->family,
                         .operation = audit::Code::of("reveal"),
                         .requester = audit::Label::of(identity::operatorPrincipal().id()),
                         .decision = audit::Code::of("none"),
                         .idempotency = audit::Code::of("none"),
                         .result = audit::Code::of("done"),
                         .target = actions::targetOf(*row)};
    return commit<bool>(services_.core, Step::kReveal,
                        [record](state::Transaction& transaction) {
                          actions::note(transaction, record);
                          return true;
                        })
        .then([context, shown, total](Outcome<bool>&& outcome) mutable {
          if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
          using R = ResultsOf<RevealContext>;
          auto results = reply(context);
          results.set(&R::setText, shown);
          results.set(&R::setTotalBytes, total);
          results.set(&R::setHiddenBytes, total > kMaxRevealShown ? total - kMaxRevealShown : 0);
        });
  }

  kj::Promise<void> grantAdd(GrantAddContext context) override {
    const auto asked = context.getParams().getGrant();
    policy::Grant grant;
    grant.subject = {.family = familyOf(asked.getFamily()),
                     .operation = asked.getOperation().cStr(),
                     .workspace = asked.getWorkspace().cStr(),
                     .principal = nameOf(view(asked.getPrincipal())),
                     .program = programOf(view(asked.getProgram())),
                     .network = std::string(actions::nameOf(asked.getNetwork())),
                     .profile = "default"};
    grant.created = audit::systemNow();
    grant.until = state::Time(std::chrono::milliseconds(asked.getUntil()));
    grant.grantedBy = identity::operatorPrincipal().id();
    return services_.rules.addGrant(services_.core, std::move(grant))
        .then([context](Outcome<std::string>&& outcome) mutable {
          if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
          reply(context).set(&ResultsOf<GrantAddContext>::setId,
                             Redactor::label(audit::Label::of(std::get<std::string>(outcome))));
        });
  }

  kj::Promise<void> grantList(GrantListContext context) override {
    const auto& grants = services_.rules.grants().all();
    auto list = reply(context).init(&ResultsOf<GrantListContext>::initGrants, grants.size());
    for (unsigned i = 0; i < grants.size(); ++i) fillGrant(grants[i], list[i]);
    return kj::READY_NOW;
  }

  kj::Promise<void> grantRemove(GrantRemoveContext context) override {
    return services_.rules.revokeGrant(services_.core, context.getParams().getId().cStr())
        .then([context](Outcome<std::string>&& outcome) mutable {
          if (const auto* refused = refusedIn(outcome)) refuse(context, *refused);
        });
  }

  kj::Promise<void> tokenCreate(TokenCreateContext context) override {
    const auto params = context.getParams();
    if (isReserved(services_.core.config, view(params.getName()))) {
      refuse(context,
             {.code = ProblemCode::INVALID_REQUEST,
              .detail = "A user of this name exists, and rules know both by the name alone; choose another.",
              .field = "name"});
      return kj::READY_NOW;
    }
    return createToken(services_.core, services_.tokens, tokenKey(), view(params.getName()),
                       scopesOf(params.getScopes()))
        .then([context](Outcome<std::string>&& outcome) mutable {
          if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
          reply(context).set(&ResultsOf<TokenCreateContext>::setToken,
                             Redactor::plainForOperator<Category::kToken>(std::get<std::string>(outcome)));
        });
  }

  kj::Promise<void> tokenList(TokenListContext context) override {
    const auto rows = state::TokenTable(services_.core.reader).list();
    using T = schema::Token::Builder;
    auto list = reply(context).init(&ResultsOf<TokenListContext>::initTokens, rows.size());
    for (unsigned i = 0; i < rows.size(); ++i) {
      auto token = list[i];
      token.set(&T::setName, Redactor::label(rows[i].name));
      token.set(&T::setCreatedAt, actions::millis(rows[i].created));
      token.set(&T::setRevoked, rows[i].revoked.has_value());
      const auto scopes = schemaScopes(rows[i].scopes);
      auto out = token.init(&T::initScopes, scopes.size());
      for (unsigned j = 0; j < scopes.size(); ++j) out.set(j, scopes[j]);
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> tokenRevoke(TokenRevokeContext context) override {
    return revokeToken(services_.core, services_.tokens, view(context.getParams().getName()))
        .then([this, context](Outcome<bool>&& outcome) mutable {
          if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
          ++services_.loginEpoch;
          services_.core.changes.touch();
        });
  }

  kj::Promise<void> policyReload(PolicyReloadContext context) override {
    return services_.rules.reload(services_.core)
        .then([context](home::Result<std::uint64_t>&& result) mutable {
          if (!result) {
            // The policy's own words name file, line, column and field.
            using P = schema::Problem::Builder;
            auto problem = reply(context).init(&ResultsOf<PolicyReloadContext>::initProblem);
            problem.set(&P::setCode, ProblemCode::INVALID_REQUEST);
            problem.set(&P::setDetail,
                        Redactor::plainForOperator<Category::kBroadPath>(result.problem().message));
            problem.set(&P::setRecovery,
                        Redactor::plainForOperator<Category::kBroadPath>(result.problem().remedy));
            problem.set(&P::setField, Redactor::words("policy.toml"));
            return;
          }
          reply(context).set(&ResultsOf<PolicyReloadContext>::setRevision, *result);
        });
  }

  kj::Promise<void> policyShow(PolicyShowContext context) override {
    reply(context).set(&ResultsOf<PolicyShowContext>::setRevision, services_.rules.revision());
    return kj::READY_NOW;
  }

  kj::Promise<void> auditList(AuditListContext context) override {
    const auto params = context.getParams();
    const auto limit = std::clamp<std::size_t>(params.getLimit(), 1, 1000);
    return services_.core.loop
        .blocking([paths = services_.core.auditPaths, after = params.getAfter(), limit]() {
          return std::make_shared<std::vector<audit::Line>>(audit::list(paths, after, limit));
        })
        .then([context, limit](std::shared_ptr<std::vector<audit::Line>>&& lines) mutable {
          using R = ResultsOf<AuditListContext>;
          auto results = reply(context);
          auto list = results.init(&R::initRecords, lines->size());
          for (unsigned i = 0; i < lines->size(); ++i) fillRecord((*lines)[i], list[i]);
          if (lines->size() == limit) results.set(&R::setNext, lines->back().sequence);
        });
  }

  kj::Promise<void> auditVerify(AuditVerifyContext context) override {
    return services_.core.loop
        .blocking([paths = services_.core.auditPaths, key = audit::toHex(services_.brokerIdentity)]() {
          return audit::verify(paths, {.firstPublicKey = key});
        })
        .then([this, context](audit::Verdict&& verdict) mutable {
          fillVerdict(verdict, services_.brokerIdentity,
                      reply(context).init(&ResultsOf<AuditVerifyContext>::initVerdict));
        });
  }

  kj::Promise<void> status(StatusContext context) override {
    fillDiagnostics(services_, reply(context).init(&ResultsOf<StatusContext>::initDiagnostics));
    return kj::READY_NOW;
  }

 private:
  // The connection has proven the key; the proof over this very decision is asked for all the same, so that
  // both ways to decide rest on the same signed message.
  std::optional<Refused> unproven(const state::ActionRow& row,
                                  schema::Operator::DecideParams::Reader params) {
    const bool approve = params.getVerdict() == schema::Verdict::APPROVE;
    identity::ProofMessage message{
        .actionId = row.id,
        .revision = params.getExpectedRevision(),
        .decision = approve ? identity::ProofDecision::kApprove : identity::ProofDecision::kReject};
    if (params.hasReason()) message.reasonDigest = identity::reasonDigest(view(params.getReason()));
    if (row.revision != params.getExpectedRevision())
      return Refused{.code = ProblemCode::STALE_REVISION, .currentRevision = row.revision};
    const auto nonce = services_.actions.nonceOf(row);
    if (!nonce) return actions::conflictOf(row);
    const auto proof = identity::parseProof(view(params.getProof()));
    message.nonce = *nonce;
    if (proof && services_.operatorKey && identity::verifyProof(*services_.operatorKey, message, *proof))
      return std::nullopt;
    return Refused{.code = ProblemCode::FORBIDDEN,
                   .detail = "A decision needs the operator key's proof.",
                   .field = "proof"};
  }

  identity::SecretBytes tokenKey() {
    auto key = identity::loadOrCreateKey(services_.home, identity::kTokenKeyName);
    KJ_REQUIRE(key.ok(), "the token key can't be read");
    return std::move(key).value();
  }

  static policy::Family familyOf(schema::Family family) {
    switch (family) {
      case schema::Family::FILE:
        return policy::Family::kFile;
      case schema::Family::GIT:
        return policy::Family::kGit;
      case schema::Family::CONTAINER:
        return policy::Family::kContainer;
      default:
        return policy::Family::kTerminal;
    }
  }

  // Policy knows principals by name; "token:ci" and "ci" are one.
  static std::string nameOf(std::string_view principal) {
    const auto colon = principal.find(':');
    return std::string(colon == std::string_view::npos ? principal : principal.substr(colon + 1));
  }

  static policy::Program programOf(std::string_view text) {
    if (text == "sh") return policy::Program::shellLine();
    if (text == "workspace") return policy::Program::workspace();
    if (text.empty()) return policy::Program::none();
    return policy::Program::system(std::string(text));
  }

  static void fillGrant(const policy::Grant& grant, actions::Outgoing<Boundary::kCli, schema::Grant> out) {
    using G = schema::Grant::Builder;
    constexpr std::array kPrograms{Literal("none"), Literal("system"), Literal("sh"), Literal("workspace")};
    const auto& subject = grant.subject;
    out.set(&G::setId, Redactor::label(audit::Label::of(grant.id)));
    out.set(&G::setFamily, actions::toSchema(subject.family));
    out.set(&G::setOperation, Redactor::code(audit::Code::of(subject.operation)));
    if (!subject.workspace.empty())
      out.set(&G::setWorkspace, Redactor::label(audit::Label::of(subject.workspace)));
    if (!subject.principal.empty())
      out.set(&G::setPrincipal, Redactor::label(audit::Label::of(subject.principal)));
    out.set(&G::setProgram, Redactor::words(kPrograms.at(static_cast<std::size_t>(subject.program.kind))));
    out.set(&G::setNetwork, actions::networkFrom(subject.network));
    out.set(&G::setUntil, actions::millis(grant.until));
    out.set(&G::setCreatedAt, actions::millis(grant.created));
  }

  Services& services_;
};

}  // namespace

kj::Promise<void> OperatorGateService::hello(HelloContext context) {
  using R = ResultsOf<HelloContext>;
  auto results = context.getResults();
  results.setNonce({nonce_.data(), nonce_.size()});
  reply(context).set(&R::setBroker, Redactor::bytes(PublicBytes::hex(services_.brokerIdentity)));
  results.setPublicKey({services_.brokerIdentity.data(), services_.brokerIdentity.size()});
  return kj::READY_NOW;
}

kj::Promise<void> OperatorGateService::login(LoginContext context) {
  const auto bytes = context.getParams().getSignature();
  identity::Signature signature{};
  const identity::LoginChallenge challenge{.broker = audit::toHex(services_.brokerIdentity), .nonce = nonce_};
  bool known = tries_ < kTries && services_.operatorKey && bytes.size() == signature.size();
  if (known) {
    std::copy(bytes.begin(), bytes.end(), signature.begin());
    known = identity::verifyLogin(*services_.operatorKey, challenge, signature);
  }
  ++tries_;
  // A nonce is good for one answer, right or wrong.
  nonce_ = identity::randomNonce();
  if (!known) {
    log(Level::kWarning, "operator_login_refused");
    actions::fill({.code = tries_ > kTries ? ProblemCode::RATE_LIMITED : ProblemCode::UNAUTHENTICATED,
                   .detail = "The signature is not the operator key's."},
                  reply(context).init(&ResultsOf<LoginContext>::initProblem));
    return kj::READY_NOW;
  }
  tries_ = 0;
  onLogin_();
  context.getResults().setOperator(makeOperator(services_));
  return kj::READY_NOW;
}

schema::Operator::Client makeOperator(Services& services) {
  return kj::heap<OperatorService>(services);
}

}  // namespace factionos::broker
