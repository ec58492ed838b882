// The methods of the family container: between schema and executor.
#include "broker/actions/ledger.h"
#include "broker/api/answers.h"
#include "broker/api/api_service.h"
#include "broker/api/readiness_view.h"
#include "broker/api/waiting.h"
#include "broker/core/request_digest.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using actions::reply;
using redaction::Boundary;
using Redactor = redaction::Redactor<Boundary::kApiResponse>;
using schema::ProblemCode;

bool isRun(const state::ActionRow& action) {
  return action.family.text() == "container" && action.operation.text() == "run";
}

}  // namespace

policy::Subject ApiService::containerSubject(const state::ActionRow* action, const char* operation) const {
  const auto textOf = [](const std::optional<audit::Label>& label) {
    return label ? label->text() : std::string();
  };
  return {.family = policy::Family::kContainer,
          .operation = operation,
          .workspace = action == nullptr ? std::string() : textOf(action->workspace),
          .principal = caller_.principal.name,
          .program = policy::Program::none(),
          .network = action != nullptr && action->network ? action->network->text() : "none",
          .profile = action == nullptr ? std::string() : textOf(action->target)};
}

std::optional<state::ActionRow> ApiService::findRun(std::string_view id) const {
  if (!state::isId(state::IdKind::kRun, id)) return std::nullopt;
  auto action = services_.actions.find(state::actionIdOf(id));
  if (!action || !isRun(*action)) return std::nullopt;
  return action;
}

kj::Promise<void> ApiService::containerReadiness(ContainerReadinessContext context) {
  if (const auto blocked = services_.rules.refusedRead(containerSubject(nullptr, "readiness"))) {
    refuse(context, *blocked);
    return kj::READY_NOW;
  }
  return ContainerView::ask(services_.core.config, services_.containers.engines())
      .then([context](ContainerView&& view) mutable {
        fillReadiness(view, reply<Boundary::kApiResponse>(context).init(
                                &ResultsOf<ContainerReadinessContext>::initReadiness));
      });
}

kj::Promise<void> ApiService::containerPreview(ContainerPreviewContext context) {
  return services_.containers.preview(caller_, context.getParams().getRequest())
      .then([context](Outcome<ContainerExecutor::Previewed>&& outcome) mutable {
        if (const auto* refused = refusedIn(outcome)) return refuse(context, *refused);
        const auto& [preview, missing] = std::get<ContainerExecutor::Previewed>(outcome);
        using R = schema::Api::ContainerPreviewResults::Builder;
        auto results = reply<Boundary::kApiResponse>(context);
        actions::fillCard(preview.row, {.idempotency = schema::IdempotencyState::FRESH},
                          results.init(&R::initCard));
        results.set(&R::setDecision, actions::toSchema(preview.decision.verdict));
        results.set(&R::setReason, Redactor::code(audit::Code::of(policy::label(preview.decision.cause))));
        // The card is shown all the same: a preview is all that there is as long as a gate is missing.
        results.set(&R::setStatus, missing ? schema::Posture::NON_EXECUTING : schema::Posture::AVAILABLE);
        if (missing) results.set(&R::setMissing, Redactor::words(missing->gate));
      });
}

kj::Promise<void> ApiService::containerRun(ContainerRunContext context) {
  const auto params = context.getParams();
  return services_.containers.run(caller_, params.getCall().getIdempotencyKey().cStr(), params.getRequest())
      .then([this, context](ActionReply&& outcome) mutable { answerAction(context, kj::mv(outcome)); });
}

kj::Promise<void> ApiService::runList(RunListContext context) {
  const auto request = context.getParams().getRequest();
  const std::string after = request.hasAfter() ? state::actionIdOf(view(request.getAfter())) : std::string();
  const auto page =
      services_.actions.list({.family = audit::Code::of("container")}, after, request.getLimit());
  std::vector<const state::ActionRow*> rows;
  for (const auto& row : page.rows) {
    if (isRun(row) && !services_.rules.refusedRead(containerSubject(&row, "list"))) rows.push_back(&row);
  }
  using R = ResultsOf<RunListContext>;
  auto results = reply<Boundary::kApiResponse>(context);
  auto list = results.init(&R::initRuns, rows.size());
  for (unsigned i = 0; i < rows.size(); ++i) fillRun(services_.containers.rowsOf(*rows[i]), list[i]);
  if (page.next) results.set(&R::setNext, Redactor::label(actions::idLabel(state::runIdOf(*page.next))));
  return kj::READY_NOW;
}

kj::Promise<void> ApiService::runGet(RunGetContext context) {
  const auto request = context.getParams().getRequest();
  const auto action = findRun(view(request.getId()));
  if (!action) {
    refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
    return kj::READY_NOW;
  }
  if (const auto blocked = services_.rules.refusedRead(containerSubject(&*action, "detail"))) {
    refuse(context, *blocked);
    return kj::READY_NOW;
  }
  auto* live = services_.containers.find(action->id);
  auto waited = kj::Promise<void>(kj::READY_NOW);
  const auto after = request.getAfter();
  if (live != nullptr) {
    const auto shown = after >= 0 ? static_cast<std::uint64_t>(after) : live->shownBytes();
    const auto deadline = services_.core.timer.now() + request.getWaitMs() * kj::MILLISECONDS;
    waited = whileWaiting(
                 services_.core.timer, deadline, [live]() { return live->whenChanged(); },
                 [live, shown]() { return live->ended() || live->shownBytes() > shown; })
                 .attach(kj::addRef(*live));
  }
  return waited.then([this, id = action->id, after, context]() mutable {
    // Again: what may be read is judged when it is read, and the wait may have been long.
    const auto row = services_.actions.find(id);
    if (!row) return refuse(context, {.code = ProblemCode::NOT_FOUND, .field = "id"});
    if (const auto blocked = services_.rules.refusedRead(containerSubject(&*row, "detail")))
      return refuse(context, *blocked);
    auto run = reply<Boundary::kApiResponse>(context).init(&ResultsOf<RunGetContext>::initRun);
    fillRun(services_.containers.rowsOf(*row), run);
    const auto& scopes = caller_.principal.scopes;
    const bool mayRead = row->principal.text() == caller_.id() || scopes.has(identity::Scope::kApprove) ||
                         scopes.has(identity::Scope::kAdmin);
    if (const auto* found = services_.containers.find(id); found != nullptr && mayRead)
      found->fillOutput(after, run.init(&schema::Run::Builder::initOutput));
  });
}

kj::Promise<void> ApiService::runKill(RunKillContext context) {
  const auto params = context.getParams();
  const auto action = findRun(view(params.getRequest().getId()));
  std::optional<Refused> refused;
  const bool begun = action && action->state != state::ActionState::kProposed &&
                     action->state != state::ActionState::kApproved;
  if (!begun) {
    refused = Refused{.code = ProblemCode::NOT_FOUND, .field = "id"};
  } else if (action->principal.text() != caller_.id()) {
    refused = Refused{.code = ProblemCode::FORBIDDEN, .detail = "Only the run's owner may do that."};
  } else {
    const auto decision = services_.rules.evaluate(containerSubject(&*action, "kill"),
                                                   policy::SessionCover::kOwnApprovedSession);
    if (decision.verdict == policy::Verdict::kDeny) refused = blockedBy(decision);
  }
  if (refused) {
    refuse(context, *refused);
    return kj::READY_NOW;
  }
  const auto digest = requestDigest(services_.core.keys, "container.kill", params.getRequest());
  const auto rows = services_.containers.rowsOf(*action);
  const auto make = [rows, digest](state::Transaction& transaction) -> StoredReply {
    actions::note(transaction, {.actionId = rows.action.id,
                                .revision = rows.action.revision,
                                .family = audit::Code::of("container"),
                                .operation = audit::Code::of("kill"),
                                .requester = rows.action.principal,
                                .decision = audit::Code::of("allow"),
                                .idempotency = audit::Code::of("done"),
                                .result = audit::Code::of("asked"),
                                .target = actions::targetOf(rows.action),
                                .requestDigest = digest});
    return {.status = 200, .bytes = encodeReply<schema::Api::RunKillResults>([&rows](auto results) {
                             fillRun(rows, results.init(&schema::Api::RunKillResults::Builder::initRun));
                           })};
  };
  return change(services_.core, {.principal = action->principal,
                                 .key = params.getCall().getIdempotencyKey().cStr(),
                                 .request = digest,
                                 .step = Step::kQueue,
                                 .make = make})
      .then([this, id = action->id, context](Outcome<StoredReply>&& outcome) mutable {
        // Ends what runs; one that has ended stays as it is. A repeat asks again, which changes nothing.
        if (refusedIn(outcome) == nullptr) services_.containers.kill(id, "killed");
        answerStored(context, kj::mv(outcome));
      });
}

kj::Promise<void> ApiService::containerCleanup(ContainerCleanupContext context) {
  const auto params = context.getParams();
  return services_.containers
      .cleanup(caller_, params.getCall().getIdempotencyKey().cStr(), params.getRequest())
      .then([this, context](ActionReply&& outcome) mutable { answerAction(context, kj::mv(outcome)); });
}

}  // namespace factionos::broker
