#include "broker/api/api_service.h"

#include <array>
#include <csignal>
#include <utility>

#include <capnp/dynamic.h>

#include "broker/actions/view.h"
#include "broker/api/answers.h"
#include "broker/api/audit_view.h"
#include "broker/api/waiting.h"
#include "broker/audit/reader.h"
#include "protocol/json/canonical.h"
#include "protocol/json/check.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using actions::reply;
using redaction::Boundary;
using redaction::PublicBytes;
using Redactor = redaction::Redactor<Boundary::kApiResponse>;
using schema::ProblemCode;

std::uint8_t numberOf(schema::Signal signal) {
  switch (signal) {
    case schema::Signal::TERM:
      return SIGTERM;
    case schema::Signal::INT:
      return SIGINT;
    case schema::Signal::HUP:
      return SIGHUP;
    case schema::Signal::QUIT:
      return SIGQUIT;
    case schema::Signal::USR1:
      return SIGUSR1;
    case schema::Signal::USR2:
      return SIGUSR2;
    case schema::Signal::CONT:
      return SIGCONT;
    case schema::Signal::STOP:
      return SIGSTOP;
    case schema::Signal::KILL:
      break;
  }
  return SIGKILL;
}

// The front reads requests by their schema; one that was taken over sends what it likes.
std::optional<Refused> outOfLimits(const RequestRow& row,
                                   capnp::CallContext<capnp::AnyPointer, capnp::AnyPointer>& context) {
  try {
    const auto params = context.getParams().getAs<capnp::DynamicStruct>(row.params);
    const auto request = params.get("request").as<capnp::DynamicStruct>();
    if (json::outOfLimits(*row.request, request) == nullptr) return std::nullopt;
    return Refused{.code = ProblemCode::INVALID_REQUEST, .detail = "A limit of the schema does not hold."};
  } catch (const kj::Exception&) {
    return Refused{.code = ProblemCode::INVALID_REQUEST, .detail = "The message is malformed."};
  }
}

}  // namespace

ApiService::ApiService(Services& services, const RequestTable& table, Caller caller)
    : services_(services), table_(table), caller_(std::move(caller)) {}

ApiService::DispatchCallResult ApiService::dispatchCall(
    std::uint64_t interfaceId, std::uint16_t methodId,
    capnp::CallContext<capnp::AnyPointer, capnp::AnyPointer> context) {
  const auto* row = interfaceId == capnp::typeId<schema::Api>() ? table_.find(methodId) : nullptr;
  if (row == nullptr) return schema::Api::Server::dispatchCall(interfaceId, methodId, context);
  std::optional<Refused> refused;
  if (!caller_.principal.scopes.has(row->scope)) {
    refused = Refused{.code = ProblemCode::FORBIDDEN};
  } else if (row->byFront) {
    refused = Refused{.code = ProblemCode::FORBIDDEN};
  } else {
    if (inFlight_.size() <= methodId) inFlight_.resize(methodId + 1U);
    if (inFlight_[methodId] >= row->inFlight)
      refused = Refused{.code = ProblemCode::RATE_LIMITED, .retryAfterMs = 1000};
    else
      refused = outOfLimits(*row, context);
  }
  if (refused) {
    auto results = context.getResults().initAs<capnp::DynamicStruct>(row->results);
    actions::fill(*refused, actions::Outgoing<Boundary::kApiError, schema::Problem>(
                                results.init("problem").as<capnp::DynamicStruct>().as<schema::Problem>()));
    return {kj::READY_NOW, false};
  }
  ++inFlight_[methodId];
  auto result = schema::Api::Server::dispatchCall(interfaceId, methodId, context);
  result.promise =
      result.promise.attach(kj::defer([this, methodId, self = thisCap()]() { --inFlight_[methodId]; }));
  return result;
}

std::optional<PublicBytes> ApiService::nonceFor(const state::ActionRow& row) {
  if (!caller_.principal.scopes.has(identity::Scope::kApprove)) return std::nullopt;
  const auto nonce = services_.actions.nonceOf(row);
  return nonce ? std::optional(PublicBytes::base64Url(*nonce)) : std::nullopt;
}

bool ApiService::mayRead(const LiveSession& session) const {
  const auto& scopes = caller_.principal.scopes;
  return session.facts().owner.text() == caller_.id() || scopes.has(identity::Scope::kApprove) ||
         scopes.has(identity::Scope::kAdmin);
}

policy::Subject ApiService::subjectOf(const LiveSession& session, const char* operation) const {
  const auto& facts = session.facts();
  return {.family = policy::Family::kTerminal,
          .operation = operation,
          .workspace = facts.workspace.text(),
          .principal = caller_.principal.name,
          .program = facts.resolved,
          .network = std::string(actions::nameOf(facts.network)),
          .profile = "default"};
}

kj::Promise<void> ApiService::eventPost(EventPostContext context) {
  return services_.events.take(context.getParams().getRequest())
      .then([context](Outcome<EventReceipt>&& outcome) mutable {
        if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
        const auto& receipt = std::get<EventReceipt>(outcome);
        using R = schema::Api::EventPostResults::Builder;
        auto results = reply<Boundary::kApiResponse>(context);
        results.set(&R::setEventId, Redactor::label(actions::idLabel(receipt.id)));
        results.set(&R::setAccepted, receipt.accepted);
      });
}

kj::Promise<void> ApiService::actionList(ActionListContext context) {
  const auto request = context.getParams().getRequest();
  state::ActionFilter filter;
  if (request.getState() != schema::ActionState::UNSPECIFIED)
    filter.state = actions::fromSchema(request.getState());
  const auto page = services_.actions.list(filter, view(request.getAfter()), request.getLimit());
  using R = schema::Api::ActionListResults::Builder;
  auto results = reply<Boundary::kApiResponse>(context);
  auto list = results.init(&R::initActions, page.rows.size());
  for (unsigned i = 0; i < page.rows.size(); ++i) actions::fillAction(page.rows[i], {}, list[i]);
  if (page.next) results.set(&R::setNext, Redactor::label(actions::idLabel(*page.next)));
  return kj::READY_NOW;
}

kj::Promise<void> ApiService::actionGet(ActionGetContext context) {
  const auto request = context.getParams().getRequest();
  const std::string id = request.getId().cStr();
  const auto first = services_.actions.find(id);
  if (!first) {
    refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
    return kj::READY_NOW;
  }
  const auto seen = request.getSeenRevision() != 0 ? request.getSeenRevision() : first->revision;
  const auto& timer = services_.core.timer;
  const auto deadline = timer.now() + request.getWaitMs() * kj::MILLISECONDS;
  return whileWaiting(
             services_.core.timer, deadline, [this, id]() { return services_.actions.whenChanged(id); },
             [this, id, seen]() {
               const auto row = services_.actions.find(id);
               return !row || row->revision != seen;
             })
      .then([this, id, context]() mutable {
        const auto row = services_.actions.find(id);
        if (!row) return refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
        using R = schema::Api::ActionGetResults::Builder;
        actions::fillAction(*row, nonceFor(*row),
                            reply<Boundary::kApiResponse>(context).init(&R::initAction));
      });
}

template <typename Results, typename Context>
kj::Promise<void> ApiService::decide(Context context, schema::Verdict verdict) {
  const auto request = context.getParams().getRequest();
  const std::string key = context.getParams().getCall().getIdempotencyKey().cStr();
  if (idempotency::checkKey(key)) {
    refuse(context, {.code = ProblemCode::IDEMPOTENCY_KEY_REQUIRED});
    return kj::READY_NOW;
  }
  const auto row = services_.actions.find(view(request.getId()));
  if (!row) {
    refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
    return kj::READY_NOW;
  }
  const auto reason = audit::Code::parse(view(request.getReason()));
  if (request.hasReason() && request.getReason().size() > 0 && !reason) {
    refuse(context, {.code = ProblemCode::INVALID_LABEL, .field = "reason"});
    return kj::READY_NOW;
  }
  // A replay needs a proof too, but its nonce is used up, and it is the key, the principal and the digest
  // that find the first answer again.
  const bool approve = verdict == schema::Verdict::APPROVE;
  identity::ProofMessage message{
      .actionId = row->id,
      .revision = request.getExpectedRevision(),
      .decision = approve ? identity::ProofDecision::kApprove : identity::ProofDecision::kReject};
  if (request.hasReason()) message.reasonDigest = identity::reasonDigest(view(request.getReason()));
  const auto proof = identity::parseProof(view(request.getProof()));
  const auto digest = services_.core.keys.digest(
      state::Purpose::kRequest, audit::asBytes(std::string(approve ? "approve" : "reject") + '\0' + row->id +
                                               '\0' + std::to_string(request.getExpectedRevision()) + '\0' +
                                               std::string(view(request.getReason()))));
  const auto nonce = services_.actions.nonceOf(*row);
  bool proven = false;
  if (nonce && proof && services_.operatorKey) {
    message.nonce = *nonce;
    proven = identity::verifyProof(*services_.operatorKey, message, *proof);
  }
  const ActionBook::Verdict wanted{.id = row->id,
                                   .expectedRevision = request.getExpectedRevision(),
                                   .verdict = verdict,
                                   .approver = caller_.id(),
                                   .reason = reason};
  struct Decided {
    std::optional<state::ActionRow> row;
    ReplyBytes bytes;
    Replay replay = Replay::kFirst;
  };
  auto& core = services_.core;
  return commit<Decided>(
             core, Step::kDecide,
             [&core, key, digest, wanted, proven, proofGiven = proof.has_value(), caller = caller_.id(),
              usableFor = core.config.limits.approvalExpiry](state::Transaction& transaction) {
               const auto now = core.lived.now();
               auto known = core.idempotency.begin(transaction, audit::Label::of(caller), key, digest, now);
               if (auto* replay = std::get_if<idempotency::Replay>(&known.outcome)) {
                 if (!proofGiven)
                   throw actions::Refusal({.code = ProblemCode::FORBIDDEN,
                                           .detail = "A decision needs the operator key's proof.",
                                           .field = "proof"});
                 return Decided{
                     .row = std::nullopt, .bytes = std::move(replay->reply), .replay = Replay::kAgain};
               }
               if (!std::holds_alternative<idempotency::Fresh>(known.outcome))
                 throw actions::Refusal({.code = std::holds_alternative<idempotency::Mismatch>(known.outcome)
                                                     ? ProblemCode::IDEMPOTENCY_MISMATCH
                                                     : ProblemCode::IN_FLIGHT});
               const auto now_row = state::ActionTable(transaction.database()).find(wanted.id);
               if (now_row && now_row->principal.text() == wanted.approver)
                 throw actions::Refusal({.code = ProblemCode::SELF_APPROVAL});
               if (now_row && now_row->revision != wanted.expectedRevision)
                 throw actions::Refusal(
                     {.code = ProblemCode::STALE_REVISION, .currentRevision = now_row->revision});
               if (!proven)
                 throw actions::Refusal({.code = ProblemCode::FORBIDDEN,
                                         .detail = "A decision needs the operator key's proof.",
                                         .field = "proof"});
               Decided decided{.row = ActionBook::decideIn(transaction, wanted, usableFor), .bytes = {}};
               decided.bytes = encodeReply<Results>([&](auto results) {
                 actions::fillAction(*decided.row, {}, results.init(&Results::Builder::initAction));
               });
               core.idempotency.finish(transaction, known.handle, 200, decided.bytes, now);
               return decided;
             })
      .then([this, context](Outcome<Decided>&& outcome) mutable {
        if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
        const auto& decided = std::get<Decided>(outcome);
        if (decided.row) services_.actions.changed(*decided.row);
        answerWith<Results>(context, decided.bytes, 200, decided.replay);
      });
}

kj::Promise<void> ApiService::actionApprove(ActionApproveContext context) {
  return decide<schema::Api::ActionApproveResults>(context, schema::Verdict::APPROVE);
}

kj::Promise<void> ApiService::actionReject(ActionRejectContext context) {
  return decide<schema::Api::ActionRejectResults>(context, schema::Verdict::REJECT);
}

kj::Promise<void> ApiService::terminalPreview(TerminalPreviewContext context) {
  return services_.terminal.preview(caller_, context.getParams().getRequest())
      .then([context](Outcome<Preview>&& outcome) mutable {
        if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
        const auto& preview = std::get<Preview>(outcome);
        using R = schema::Api::TerminalPreviewResults::Builder;
        auto results = reply<Boundary::kApiResponse>(context);
        actions::fillCard(preview.row, {.idempotency = schema::IdempotencyState::FRESH},
                          results.init(&R::initCard));
        results.set(&R::setDecision, actions::toSchema(preview.decision.verdict));
        results.set(&R::setReason, Redactor::code(audit::Code::of(policy::label(preview.decision.cause))));
      });
}

kj::Promise<void> ApiService::terminalRun(TerminalRunContext context) {
  const auto params = context.getParams();
  return services_.terminal.run(caller_, params.getCall().getIdempotencyKey(), params.getRequest())
      .then([this, context](ActionReply&& reply) mutable { answerAction(context, kj::mv(reply)); });
}

kj::Promise<void> ApiService::sessionRestart(SessionRestartContext context) {
  const auto params = context.getParams();
  return services_.terminal.restart(caller_, params.getCall().getIdempotencyKey(), params.getRequest())
      .then([this, context](ActionReply&& reply) mutable { answerAction(context, kj::mv(reply)); });
}

kj::Promise<void> ApiService::sessionGet(SessionGetContext context) {
  const auto request = context.getParams().getRequest();
  auto* session = services_.sessions.find(view(request.getId()));
  if (session == nullptr) {
    refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
    return kj::READY_NOW;
  }
  if (const auto blocked = services_.rules.refusedRead(subjectOf(*session, "detail"))) {
    refuse(context, *blocked);
    return kj::READY_NOW;
  }
  const auto after = request.getAfter();
  auto held = kj::addRef(*session);
  const auto shown = after >= 0 ? static_cast<std::uint64_t>(after) : session->shownBytes();
  const auto deadline = services_.core.timer.now() + request.getWaitMs() * kj::MILLISECONDS;
  return whileWaiting(
             services_.core.timer, deadline, [session]() { return session->whenChanged(); },
             [session, shown]() { return session->ended() || session->shownBytes() > shown; })
      .then([this, session, after, context]() mutable {
        // Again: what may be read is judged when it is read, and the wait may have been long.
        if (const auto blocked = services_.rules.refusedRead(subjectOf(*session, "detail")))
          return refuse(context, *blocked);
        auto summary =
            reply<Boundary::kApiResponse>(context).init(&ResultsOf<SessionGetContext>::initSession);
        session->fillSummary(summary);
        if (mayRead(*session)) session->fillOutput(after, summary);
      })
      .attach(kj::mv(held));
}

template <typename Context, typename Operate>
kj::Promise<void> ApiService::onSession(Context context, const char* operation, Operate operate) {
  const auto params = context.getParams();
  auto* session = services_.sessions.find(view(params.getRequest().getId()));
  std::optional<Refused> refused;
  const std::string key = params.getCall().getIdempotencyKey().cStr();
  if (session == nullptr) {
    refused = Refused{.code = ProblemCode::NOT_FOUND, .field = "id"};
  } else if (session->facts().owner.text() != caller_.id()) {
    refused = Refused{.code = ProblemCode::FORBIDDEN, .detail = "Only the session's owner may do that."};
  } else if (idempotency::checkKey(key)) {
    refused = Refused{.code = ProblemCode::IDEMPOTENCY_KEY_REQUIRED};
  }
  if (!refused) {
    const auto decision =
        services_.rules.evaluate(subjectOf(*session, operation), policy::SessionCover::kOwnApprovedSession);
    if (decision.verdict == policy::Verdict::kDeny) refused = blockedBy(decision);
  }
  if (refused) {
    refuse(context, *refused);
    return kj::READY_NOW;
  }
  using State = LiveSession::KeyEntry::State;
  const auto bytes = json::canonicalBytes(params.getRequest());
  std::string content = std::string(operation) + '\0';
  content.append(bytes.asChars().begin(), bytes.size());
  const auto digest = services_.core.keys.digest(state::Purpose::kRequest, audit::asBytes(content));
  auto entry = session->keyed(key, digest);
  if (!(entry->digest == digest)) {
    refuse(context, {.code = ProblemCode::IDEMPOTENCY_MISMATCH});
    return kj::READY_NOW;
  }
  if (entry->state == State::kInFlight) {
    refuse(context, {.code = ProblemCode::IN_FLIGHT, .retryAfterMs = idempotency::kRetryAfterMs});
    return kj::READY_NOW;
  }
  const auto replay = entry->state == State::kDone ? Replay::kAgain : Replay::kFirst;
  auto answered = [session, context, entry, replay]() mutable {
    using R = ResultsOf<Context>;
    auto results = reply<Boundary::kApiResponse>(context);
    results.init(&R::initMeta).set(&schema::ReplyMeta::Builder::setReplayed, replay == Replay::kAgain);
    if (entry->refused) {
      refuse(context, *entry->refused);
    } else {
      session->fillSummary(results.init(&R::initSession));
    }
  };
  if (replay == Replay::kAgain) {
    answered();
    return kj::READY_NOW;
  }
  entry->state = State::kInFlight;
  auto held = kj::addRef(*session);
  auto done = kj::evalNow([&]() { return operate(*session, params.getRequest()); })
                  .catch_([](kj::Exception&&) {
                    return std::optional<Refused>(Refused{.code = ProblemCode::SESSION_ENDED});
                  })
                  .then([entry](std::optional<Refused>&& outcome) {
                    entry->refused = kj::mv(outcome);
                    entry->state = State::kDone;
                  })
                  .fork();
  // A client that leaves cancels nothing: its repeat is told how this ended.
  session->carryOut(done.addBranch());
  return done.addBranch().then(kj::mv(answered)).attach(kj::mv(held));
}

kj::Promise<void> ApiService::sessionInput(SessionInputContext context) {
  return onSession(context, "input", [](LiveSession& session, schema::SessionInput::Reader request) {
    return session.input(std::string(view(request.getData())));
  });
}

kj::Promise<void> ApiService::sessionResize(SessionResizeContext context) {
  return onSession(context, "resize", [](LiveSession& session, schema::SessionResize::Reader request) {
    return session.resize(request.getCols(), request.getRows());
  });
}

kj::Promise<void> ApiService::sessionKill(SessionKillContext context) {
  return onSession(
      context, "kill",
      [](LiveSession& session, schema::SessionKill::Reader request) -> kj::Promise<std::optional<Refused>> {
        if (session.ended()) return std::optional<Refused>(Refused{.code = ProblemCode::SESSION_ENDED});
        if (request.getSignal() != schema::Signal::KILL) return session.signal(numberOf(request.getSignal()));
        return session.kill("killed").then([]() -> std::optional<Refused> { return std::nullopt; });
      });
}

kj::Promise<void> ApiService::auditList(AuditListContext context) {
  const auto request = context.getParams().getRequest();
  const auto after = request.getAfter();
  const auto limit = request.getLimit();
  return services_.core.loop
      .blocking([paths = services_.core.auditPaths, after, limit]() {
        return std::make_shared<std::vector<audit::Line>>(audit::list(paths, after, limit));
      })
      .then(
          [context, limit](std::shared_ptr<std::vector<audit::Line>>&& lines) mutable {
            using R = schema::Api::AuditListResults::Builder;
            auto results = reply<Boundary::kApiResponse>(context);
            auto list = results.init(&R::initRecords, lines->size());
            for (unsigned i = 0; i < lines->size(); ++i) fillRecord((*lines)[i], list[i]);
            if (!lines->empty() && lines->size() == limit) results.set(&R::setNext, lines->back().sequence);
          },
          [context](kj::Exception&&) mutable { refuse(context, {.code = ProblemCode::AUDIT_UNAVAILABLE}); });
}

kj::Promise<void> ApiService::auditVerify(AuditVerifyContext context) {
  return services_.core.loop
      .blocking([paths = services_.core.auditPaths, key = audit::toHex(services_.brokerIdentity)]() {
        return audit::verify(paths, {.firstPublicKey = key});
      })
      .then([this, context](audit::Verdict&& verdict) mutable {
        using R = schema::Api::AuditVerifyResults::Builder;
        fillVerdict(verdict, services_.brokerIdentity,
                    reply<Boundary::kApiResponse>(context).init(&R::initVerdict));
      });
}

}  // namespace factionos::broker
