#include "broker/executors/action_flow.h"

#include <utility>

#include "broker/actions/ledger.h"
#include "broker/actions/view.h"
#include "protocol/json/writer.h"

namespace factionos::broker {
namespace {

using audit::Code;
using audit::Label;
using schema::ProblemCode;

Code failureCode(const Failed& failed) {
  if (failed.failure != nullptr) return Code::of(failed.failure);
  return Code::parse(json::problemKind(failed.refused.code).code).value_or(Code::of("failed"));
}

}  // namespace

ActionFlow::ActionFlow(ActionRunner& runner, Caller caller, std::optional<Approved> approval,
                       kj::Own<Effect> effect)
    : runner_(runner),
      core_(runner.core_),
      caller_(std::move(caller)),
      approval_(std::move(approval)),
      effect_(kj::mv(effect)) {}

std::optional<Refused> ActionFlow::notNow() const {
  if (runner_.closing_) return Refused{.code = ProblemCode::SHUTTING_DOWN, .retryAfterMs = 1000};
  if (auto unready = runner_.executors_.whyNot(effect_->operation().family))
    return std::move(unready->refused);
  return std::nullopt;
}

kj::Promise<std::optional<Refused>> ActionFlow::prepare() {
  if (auto refused = notNow()) return std::optional<Refused>(std::move(*refused));
  if (!locks_) {
    locks_ = runner_.locks_.take(effect_->locks());
    if (!locks_)
      return std::optional<Refused>(Refused{.code = ProblemCode::RESOURCE_BUSY, .retryAfterMs = 1000});
  }
  return effect_->prepare();
}

policy::Subject ActionFlow::subject() const {
  auto subject = effect_->subject();
  subject.principal = caller_.principal.name;
  return subject;
}

policy::Decision ActionFlow::decide() const {
  return runner_.rules_.evaluate(subject());
}

state::ActionRow ActionFlow::row(const policy::Decision& decision) const {
  const auto now = audit::systemNow();
  const auto& operation = effect_->operation();
  const auto& prepared = effect_->prepared();
  const auto asked = subject();
  return {.id = core_.ids.next(state::IdKind::kAction),
          .state = decision.verdict == policy::Verdict::kAllow ? state::ActionState::kApproved
                                                               : state::ActionState::kProposed,
          .family = Code::of(policy::label(operation.family)),
          .operation = Code::of(operation.name),
          .workspace = Label::of(effect_->workspace()),
          .target = effect_->target(),
          .principal = Label::of(caller_.id()),
          .decision = Code::of(policy::label(decision.verdict)),
          .reason = Code::parse(policy::label(decision.cause)),
          .requestDigest = requestDigest_,
          .policyRevision = runner_.rules_.revision(),
          .programDigest = prepared.programDigest,
          .operandDigests = prepared.basis,
          .network = asked.network.empty() ? std::nullopt : Code::parse(asked.network),
          .risk = Code::of(policy::label(prepared.risk.value_or(operation.risk))),
          .created = now,
          .updated = now,
          .expires = now + core_.config.limits.approvalExpiry,
          .changes = prepared.changes};
}

kj::Promise<Outcome<Preview>> ActionFlow::preview(const char* as) {
  if (auto refused = effect_->validate()) return Outcome<Preview>(std::move(*refused));
  if (auto refused = notNow()) return Outcome<Preview>(std::move(*refused));
  requestDigest_ = effect_->requestDigest();
  return effect_->prepare().then([this, as](std::optional<Refused>&& refused) -> Outcome<Preview> {
    if (refused) return std::move(*refused);
    auto look = subject();
    look.operation = as;
    if (auto blocked = runner_.rules_.refusedRead(std::move(look))) return std::move(*blocked);
    auto decision = decide();
    auto previewed = row(decision);
    return Preview{.row = std::move(previewed), .decision = std::move(decision)};
  });
}

kj::Promise<ActionReply> ActionFlow::answer(std::string key) {
  key_ = std::move(key);
  if (auto refused = effect_->validate()) return ActionReply(std::move(*refused));
  if (idempotency::checkKey(key_)) return ActionReply(Refused{.code = ProblemCode::IDEMPOTENCY_KEY_REQUIRED});
  requestDigest_ = effect_->requestDigest();
  claim_ = runner_.keys_.claim(caller_.id(), key_);
  if (!claim_)
    return ActionReply(Refused{.code = ProblemCode::IN_FLIGHT, .retryAfterMs = idempotency::kRetryAfterMs});
  const auto digest = core_.keys.digest(state::Purpose::kIdempotencyKey, audit::asBytes(key_));
  // Only a hint that spares a dry run: what counts is decided inside of the mutation.
  if (state::IdempotencyTable(core_.reader).find(Label::of(caller_.id()), digest)) return known();
  if (approval_)
    return ActionReply(Refused{.code = ProblemCode::APPROVAL_DRIFT,
                               .detail = "The approval belongs to a request with another Idempotency-Key.",
                               .field = "approval.actionId"});
  return propose();
}

kj::Promise<ActionReply> ActionFlow::known() {
  return commit<idempotency::Decision>(core_, Step::kKeyLookUp,
                                       [this](state::Transaction& transaction) {
                                         auto decision =
                                             core_.idempotency.begin(transaction, Label::of(caller_.id()),
                                                                     key_, requestDigest_, core_.lived.now());
                                         if (std::holds_alternative<idempotency::Fresh>(decision.outcome))
                                           core_.idempotency.release(transaction, decision.handle);
                                         return decision;
                                       })
      .then([this](Outcome<idempotency::Decision>&& outcome) -> kj::Promise<ActionReply> {
        if (auto* refused = std::get_if<Refused>(&outcome)) return ActionReply(std::move(*refused));
        return judge(std::get<idempotency::Decision>(std::move(outcome)));
      });
}

kj::Promise<ActionReply> ActionFlow::judge(idempotency::Decision decision) {
  if (auto* replay = std::get_if<idempotency::Replay>(&decision.outcome))
    return ActionReply(
        StoredReply{.status = replay->status, .bytes = std::move(replay->reply), .replay = Replay::kAgain});
  if (const auto* busy = std::get_if<idempotency::InFlight>(&decision.outcome))
    return ActionReply(Refused{.code = ProblemCode::IN_FLIGHT, .retryAfterMs = busy->retryAfterMs});
  if (std::holds_alternative<idempotency::Mismatch>(decision.outcome))
    return ActionReply(Refused{.code = ProblemCode::IDEMPOTENCY_MISMATCH});
  if (const auto* interrupted = std::get_if<idempotency::Interrupted>(&decision.outcome)) {
    const auto row = runner_.actions_.find(interrupted->actionId);
    return ActionReply(Refused{.code = ProblemCode::TIMED_OUT,
                               .detail = "The broker ended while this ran; it is not run again.",
                               .state = row ? actions::toSchema(row->state) : schema::ActionState::UNKNOWN});
  }
  if (std::holds_alternative<idempotency::Fresh>(decision.outcome)) return propose();
  const auto& waiting = std::get<idempotency::Waiting>(decision.outcome);
  auto row = runner_.actions_.find(waiting.actionId);
  if (!row) return ActionReply(Refused{.code = ProblemCode::NOT_FOUND});
  if (row->state != state::ActionState::kProposed && row->state != state::ActionState::kApproved)
    return ActionReply(actions::conflictOf(*row));
  if (row->expires && *row->expires <= audit::systemNow())
    return ActionReply(Refused{.code = ProblemCode::APPROVAL_EXPIRED, .currentRevision = row->revision});
  if (!approval_) return ActionReply(ActionWaits{std::move(*row)});
  if (approval_->actionId != row->id)
    return ActionReply(Refused{.code = ProblemCode::APPROVAL_DRIFT,
                               .detail = "The approval belongs to another request.",
                               .field = "approval.actionId"});
  if (approval_->expectedRevision != row->revision)
    return ActionReply(Refused{.code = ProblemCode::STALE_REVISION,
                               .field = "approval.expectedRevision",
                               .currentRevision = row->revision});
  if (row->state == state::ActionState::kProposed) return ActionReply(ActionWaits{std::move(*row)});
  return execute(std::move(*row), decision.handle);
}

kj::Promise<ActionReply> ActionFlow::propose() {
  // Who may not ask learns nothing of what a dry run would find.
  if (effect_->subjectIs() == Effect::SubjectIs::kKnownFromRequest) {
    if (auto refused = notNow()) return ActionReply(std::move(*refused));
    if (const auto decision = decide(); decision.verdict == policy::Verdict::kDeny) return denied(decision);
  }
  return prepare().then([this](std::optional<Refused>&& refused) -> kj::Promise<ActionReply> {
    if (refused) return ActionReply(std::move(*refused));
    return proposePrepared();
  });
}

kj::Promise<ActionReply> ActionFlow::proposePrepared() {
  const auto decision = decide();
  if (decision.verdict == policy::Verdict::kDeny) return denied(decision);
  if (decision.verdict == policy::Verdict::kAsk &&
      runner_.actions_.waiting() >= core_.config.limits.maxWaitingActions)
    return ActionReply(Refused{.code = ProblemCode::RATE_LIMITED,
                               .detail = "So many actions wait for a decision that no more are taken.",
                               .retryAfterMs = 5000});
  auto proposed = row(decision);
  const bool allowed = decision.verdict == policy::Verdict::kAllow;
  auto sessionId = allowed ? effect_->beginSession() : std::nullopt;
  struct Made {
    idempotency::Decision decision;
    state::ActionRow row;
  };
  return commit<Made>(core_, Step::kPropose,
                      [this, proposed, allowed, sessionId, alsoOnProposal = effect_->alsoOnProposal(),
                       alsoOnIntent = effect_->alsoOnIntent()](state::Transaction& transaction) mutable {
                        const auto now = core_.lived.now();
                        Made made{core_.idempotency.begin(transaction, Label::of(caller_.id()), key_,
                                                          requestDigest_, now),
                                  proposed};
                        if (!std::holds_alternative<idempotency::Fresh>(made.decision.outcome)) return made;
                        actions::open(transaction, made.row, actions::KeyNote::kFresh);
                        core_.idempotency.attachAction(transaction, made.decision.handle, made.row.id);
                        if (alsoOnProposal) alsoOnProposal(transaction, made.row);
                        if (!allowed) {
                          core_.idempotency.wait(transaction, made.decision.handle, now);
                          return made;
                        }
                        if (alsoOnIntent) alsoOnIntent(transaction, made.row);
                        made.row = actions::apply(transaction, made.row.id,
                                                  {.event = actions::Event::kBegin,
                                                   .sessionId = sessionId,
                                                   .note = actions::KeyNote::kInFlight});
                        return made;
                      })
      .then([this, allowed](Outcome<Made>&& outcome) -> kj::Promise<ActionReply> {
        if (auto* refusal = std::get_if<Refused>(&outcome)) return ActionReply(std::move(*refusal));
        auto made = std::get<Made>(std::move(outcome));
        if (!std::holds_alternative<idempotency::Fresh>(made.decision.outcome))
          return judge(std::move(made.decision));
        if (!allowed) runner_.actions_.remember(made.row.id, effect_->prepared().revealed);
        runner_.actions_.changed(made.row);
        if (!allowed) return ActionReply(ActionWaits{std::move(made.row)});
        action_ = std::move(made.row);
        handle_ = std::move(made.decision.handle);
        return start();
      });
}

kj::Promise<ActionReply> ActionFlow::denied(const policy::Decision& decision) {
  // Nothing is stored but the record: the same key may come again when policy says something else.
  const auto& operation = effect_->operation();
  audit::Record record{.family = Code::of(policy::label(operation.family)),
                       .operation = Code::of(operation.name),
                       .requester = Label::of(caller_.id()),
                       .decision = Code::of("deny"),
                       .idempotency = Code::of("none"),
                       .result = Code::of("denied"),
                       .target = actions::targetOf(effect_->workspace(), effect_->target()),
                       .failure = Code::parse(policy::label(decision.cause)),
                       .requestDigest = requestDigest_};
  return commit<bool>(core_, Step::kDeny,
                      [record](state::Transaction& transaction) {
                        actions::note(transaction, record);
                        return true;
                      })
      .then([decision](Outcome<bool>&& outcome) -> ActionReply {
        if (auto* refused = std::get_if<Refused>(&outcome)) return std::move(*refused);
        return blockedBy(decision);
      });
}

std::optional<Refused> ActionFlow::drift(const state::ActionRow& approved) const {
  const auto revision = runner_.rules_.revision();
  if (approved.policyRevision != revision)
    return Refused{
        .code = ProblemCode::APPROVAL_DRIFT,
        .detail = {"Asked under policy revision ", approved.policyRevision, "; in force is ", revision, "."},
        .currentRevision = approved.revision};
  const auto& prepared = effect_->prepared();
  if (approved.programDigest != prepared.programDigest || approved.operandDigests != prepared.basis ||
      approved.target != effect_->target())
    return Refused{.code = ProblemCode::APPROVAL_DRIFT,
                   .detail = effect_->driftDetail(),
                   .currentRevision = approved.revision};
  if (const auto decision = decide(); decision.verdict == policy::Verdict::kDeny) return blockedBy(decision);
  return std::nullopt;
}

kj::Promise<ActionReply> ActionFlow::execute(state::ActionRow approved, idempotency::KeyHandle handle) {
  return prepare().then([this, approved = std::move(approved), handle = std::move(handle)](
                            std::optional<Refused>&& refused) mutable -> kj::Promise<ActionReply> {
    if (refused) return ActionReply(std::move(*refused));
    if (auto drifted = drift(approved)) return ActionReply(std::move(*drifted));
    return begin(std::move(approved), std::move(handle));
  });
}

kj::Promise<ActionReply> ActionFlow::begin(state::ActionRow approved, idempotency::KeyHandle handle) {
  auto sessionId = effect_->beginSession();
  handle_ = handle;
  return commit<state::ActionRow>(core_, Step::kBegin,
                                  [this, approved, handle, sessionId,
                                   also = effect_->alsoOnIntent()](state::Transaction& transaction) {
                                    if (approved.expires && *approved.expires <= transaction.now())
                                      throw actions::Refusal({.code = ProblemCode::APPROVAL_EXPIRED,
                                                              .currentRevision = approved.revision});
                                    if (!core_.idempotency.claim(transaction, handle))
                                      throw actions::Refusal({.code = ProblemCode::IN_FLIGHT,
                                                              .retryAfterMs = idempotency::kRetryAfterMs});
                                    if (also) also(transaction, approved);
                                    return actions::apply(transaction, approved.id,
                                                          {.event = actions::Event::kBegin,
                                                           .expectedRevision = approved.revision,
                                                           .sessionId = sessionId,
                                                           .note = actions::KeyNote::kInFlight});
                                  })
      .then([this](Outcome<state::ActionRow>&& outcome) -> kj::Promise<ActionReply> {
        if (auto* refused = std::get_if<Refused>(&outcome)) return ActionReply(std::move(*refused));
        action_ = std::get<state::ActionRow>(std::move(outcome));
        runner_.actions_.changed(*action_);
        return start();
      });
}

kj::Promise<ActionReply> ActionFlow::start() {
  return effect_->run(*action_).then([this](EffectEnd&& end) -> kj::Promise<ActionReply> {
    if (auto* failed = std::get_if<Failed>(&end)) return fail(std::move(*failed));
    auto done = std::get<Done>(std::move(end));
    return done.life == Done::Life::kEnded ? finish(std::move(done)) : goOn(std::move(done));
  });
}

kj::Promise<ActionReply> ActionFlow::finish(Done done) {
  struct Stored {
    state::ActionRow row;
    ReplyBytes bytes;
  };
  const auto record = [this, done](state::Transaction& transaction) {
    auto row = actions::apply(
        transaction, action_->id,
        {.event = actions::Event::kSucceed, .counts = done.counts, .note = actions::KeyNote::kDone});
    auto reply = done.reply(row);
    if (done.also) done.also(transaction);
    core_.idempotency.finish(transaction, *handle_, done.status, reply, core_.lived.now());
    return Stored{.row = std::move(row), .bytes = std::move(reply)};
  };
  return insist<Stored>(Step::kOutcome, record,
                        [this](const Stored& stored) { runner_.actions_.changed(stored.row); })
      .then([status = done.status](Outcome<Stored>&& outcome) -> ActionReply {
        if (auto* refused = std::get_if<Refused>(&outcome)) {
          refused->detail = "It was done, but its outcome could not be stored; read the action.";
          return std::move(*refused);
        }
        return StoredReply{
            .status = status, .bytes = std::get<Stored>(std::move(outcome)).bytes, .replay = Replay::kFirst};
      });
}

kj::Promise<ActionReply> ActionFlow::goOn(Done done) {
  auto bytes = done.reply(*action_);
  const auto store = [this, bytes, done](state::Transaction& transaction) {
    if (done.also) done.also(transaction);
    core_.idempotency.finish(transaction, *handle_, done.status, bytes, core_.lived.now());
    return true;
  };
  return insist<bool>(Step::kReply, store, [](bool) {})
      .then([bytes, status = done.status](Outcome<bool>&& outcome) mutable -> ActionReply {
        if (auto* refused = std::get_if<Refused>(&outcome)) {
          refused->detail = "It runs, but the reply could not be stored; read the action.";
          return std::move(*refused);
        }
        return StoredReply{.status = status, .bytes = std::move(bytes), .replay = Replay::kFirst};
      });
}

kj::Promise<ActionReply> ActionFlow::fail(Failed failed) {
  const auto status = json::problemKind(failed.refused.code).status;
  auto bytes = encodeReply<schema::ProblemReply>([&](auto results) {
    actions::fill(failed.refused, results.init(&schema::ProblemReply::Builder::initProblem));
  });
  const auto code = failureCode(failed);
  const auto record = [this, bytes, code, status, event = failed.event,
                       also = std::move(failed.also)](state::Transaction& transaction) {
    if (also) also(transaction);
    core_.idempotency.finish(transaction, *handle_, status, bytes, core_.lived.now());
    return actions::apply(transaction, action_->id,
                          {.event = event, .failure = code, .note = actions::KeyNote::kDone});
  };
  return insist<state::ActionRow>(Step::kFail, record,
                                  [this](const state::ActionRow& row) { runner_.actions_.changed(row); })
      .then([bytes, status](Outcome<state::ActionRow>&& outcome) mutable -> ActionReply {
        if (auto* unrecorded = std::get_if<Refused>(&outcome)) return std::move(*unrecorded);
        return StoredReply{.status = status, .bytes = std::move(bytes), .replay = Replay::kFirst};
      });
}

template <typename T>
kj::Promise<Outcome<T>> ActionFlow::insist(Step step, std::function<T(state::Transaction&)> change,
                                           std::function<void(const T&)> made) {
  return commit<T>(core_, step, change).then([this, step, change, made](Outcome<T>&& outcome) {
    const auto* refused = refusedIn(outcome);
    if (refused == nullptr) {
      made(std::get<T>(outcome));
    } else if (refused->retryAfterMs != 0) {
      auto again = core_.timer.afterDelay(kRecordRetry).then([this, step, change, made]() {
        return insist<T>(step, change, made).ignoreResult();
      });
      runner_.tasks_->add(again.attach(kj::addRef(*this)));
    }
    return kj::mv(outcome);
  });
}

}  // namespace factionos::broker
